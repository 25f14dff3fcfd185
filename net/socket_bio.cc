#include "net/socket_bio.h"

#include <openssl/bio.h>

#include <cerrno>
#include <memory>
#include <sys/socket.h>

namespace loadline::net {
namespace {

struct SocketState {
  int socket;
  bool* peer_closed;
};

SocketState* state(BIO* bio) { return static_cast<SocketState*>(BIO_get_data(bio)); }

bool again() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

int read_socket(BIO* bio, char* buffer, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t n = ::recv(state(bio)->socket, buffer, static_cast<std::size_t>(size), 0);
  if (n == 0) *state(bio)->peer_closed = true;
  if (n < 0 && again()) BIO_set_retry_read(bio);
  return static_cast<int>(n);
}

int write_socket(BIO* bio, const char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t n = ::send(state(bio)->socket, bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  if (n < 0 && again()) BIO_set_retry_write(bio);
  return static_cast<int>(n);
}

long control(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_EOF) return *state(bio)->peer_closed ? 1 : 0;
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

int destroy(BIO* bio) {
  delete state(bio);
  return 1;
}

using Method = std::unique_ptr<BIO_METHOD, decltype(&BIO_meth_free)>;

Method make_method() {
  Method method(BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket"), &BIO_meth_free);
  if (method) {
    BIO_meth_set_read(method.get(), read_socket);
    BIO_meth_set_write(method.get(), write_socket);
    BIO_meth_set_ctrl(method.get(), control);
    BIO_meth_set_destroy(method.get(), destroy);
  }
  return method;
}

}  // namespace

bio_st* make_socket_bio(int socket, bool* peer_closed) {
  static const Method method = make_method();
  BIO* bio = method ? BIO_new(method.get()) : nullptr;
  if (bio == nullptr) return nullptr;
  BIO_set_data(bio, new SocketState{socket, peer_closed});
  BIO_set_init(bio, 1);
  return bio;
}

}  // namespace loadline::net
