#include "net/stream.h"

#include "net/certificate.h"
#include "net/socket_bio.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <sys/socket.h>
#include <utility>

namespace loadline::net {

namespace asio = boost::asio;
using boost::system::error_code;
constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);

// Outlives the Stream while its timer's handler is under way. Moving the deadline later costs
// nothing: the timer fires at the old time and is set anew.
struct Stream::Deadline : std::enable_shared_from_this<Stream::Deadline> {
  Deadline(const asio::any_io_executor& executor, asio::ip::tcp::socket& s)
      : timer(executor), socket(&s) {}

  void arm() {
    armed = true;
    timer.expires_at(at);
    timer.async_wait([self = shared_from_this()](const error_code& error) {
      if (error || self->socket == nullptr) return;
      self->armed = false;
      if (self->at == SteadyTime::max()) return;
      if (system_clock().steady_now() < self->at) return self->arm();
      self->passed = true;
      error_code ignored;
      self->socket->cancel(ignored);
    });
  }

  asio::steady_timer timer;
  asio::ip::tcp::socket* socket;  // null once the Stream is gone
  SteadyTime at = SteadyTime::max();
  bool armed = false;
  bool passed = false;
};

void Stream::FreeSsl::operator()(ssl_st* ssl) const { SSL_free(ssl); }

Stream::Stream(asio::any_io_executor executor)
    : Stream(asio::ip::tcp::socket(std::move(executor))) {}

Stream::Stream(asio::ip::tcp::socket socket)
    : socket_(std::move(socket)),
      deadline_(std::make_shared<Deadline>(socket_.get_executor(), socket_)) {}

Stream::~Stream() {
  deadline_->socket = nullptr;
  deadline_->timer.cancel();
}

void Stream::set_deadline(SteadyTime deadline) {
  deadline_->at = deadline;
  deadline_->passed = false;
  if (deadline == SteadyTime::max()) return;
  if (!deadline_->armed || deadline < deadline_->timer.expiry()) deadline_->arm();
}

void Stream::clear_deadline() {
  deadline_->at = SteadyTime::max();
  deadline_->passed = false;
  deadline_->armed = false;
  deadline_->timer.cancel();
}

Io Stream::failure(const error_code& error) {
  if (deadline_->passed) return Io::kTimeout;
  if (error == asio::error::operation_aborted || !socket_.is_open()) return Io::kCancelled;
  if (error == asio::error::eof) return Io::kEnd;
  why_ = error.message();
  return Io::kFailed;
}

asio::awaitable<Io> Stream::connect(asio::ip::tcp::endpoint peer) {
  if (deadline_->passed) co_return Io::kTimeout;
  const auto [failed] = co_await socket_.async_connect(peer, kTuple);
  if (failed) co_return failure(failed);
  error_code error;
  socket_.set_option(asio::ip::tcp::no_delay(true), error);
  socket_.set_option(asio::socket_base::keep_alive(true), error);
  co_return Io::kOk;
}

Io Stream::start_tls(const TlsContext& context) {
  context_ = context;
  ssl_.reset(SSL_new(context->native_handle()));
  error_code error;
  socket_.native_non_blocking(true, error);
  socket_.set_option(asio::ip::tcp::no_delay(true), error);
  BIO* bio = ssl_ ? make_socket_bio(socket_.native_handle(), &peer_closed_) : nullptr;
  if (bio == nullptr || !socket_.is_open()) {
    why_ = "cannot set up TLS";
    return Io::kFailed;
  }
  SSL_set_bio(ssl_.get(), bio, bio);
  return Io::kOk;
}

asio::awaitable<Io> Stream::client_handshake(TlsContext context, std::string name) {
  if (start_tls(context) != Io::kOk) co_return Io::kFailed;
  SSL* ssl = ssl_.get();
  SSL_set_connect_state(ssl);
  error_code not_ip;
  asio::ip::make_address(name, not_ip);
  // A certificate that has its name in CN alone is of the past; Go's clients refuse it as well.
  SSL_set_hostflags(ssl,
                    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  const bool named = not_ip ? SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                                       name.data()) == 1 &&
                                  SSL_set1_host(ssl, name.c_str()) == 1
                            : X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name.c_str()) == 1;
  if (!named) {
    why_ = fmt::format("{} is no name that TLS can verify", name);
    co_return Io::kFailed;
  }
  const Io io = co_await handshake();
  if (io == Io::kFailed && SSL_get_verify_result(ssl) != X509_V_OK) {
    why_ = fmt::format("the certificate is not good for {}: {}", name,
                       X509_verify_cert_error_string(SSL_get_verify_result(ssl)));
  } else if (io == Io::kFailed && why_ == "wrong version number") {
    why_ = "the peer does not speak TLS; is the port plain HTTP?";
  }
  co_return io;
}

asio::awaitable<Io> Stream::server_handshake(TlsContext context) {
  if (start_tls(context) != Io::kOk) co_return Io::kFailed;
  SSL_set_accept_state(ssl_.get());
  co_return co_await handshake();
}

asio::awaitable<Io> Stream::handshake() {
  for (;;) {
    if (!usable()) co_return failure(asio::error::operation_aborted);
    ERR_clear_error();
    errno = 0;
    const int result = SSL_do_handshake(ssl_.get());
    if (result == 1) co_return Io::kOk;
    const Io io = co_await tls_wait(result);
    if (io != Io::kOk) co_return io;
  }
}

// After an OpenSSL call that did not succeed: waits for what it wants, or tells why it will never
// succeed.
asio::awaitable<Io> Stream::tls_wait(int result) {
  const int number = errno;
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ: {
      const auto [error] = co_await socket_.async_wait(asio::socket_base::wait_read, kTuple);
      co_return error ? failure(error) : Io::kOk;
    }
    case SSL_ERROR_WANT_WRITE: {
      const auto [error] = co_await socket_.async_wait(asio::socket_base::wait_write, kTuple);
      co_return error ? failure(error) : Io::kOk;
    }
    case SSL_ERROR_ZERO_RETURN:
      co_return Io::kEnd;
    default:
      break;
  }
  if (peer_closed_) {
    ERR_clear_error();
    why_ = "the connection ended without TLS's goodbye";
    co_return Io::kCut;
  }
  if (!usable()) co_return failure(asio::error::operation_aborted);
  why_ = take_openssl_error(number == 0
                                ? "TLS failed"
                                : error_code(number, asio::error::get_system_category()).message());
  co_return Io::kFailed;
}

asio::awaitable<ReadResult> Stream::read_some(char* buffer, std::size_t size) {
  ReadResult result;
  if (!ssl_ && usable()) {
    const auto [error, n] = co_await socket_.async_read_some(asio::buffer(buffer, size), kTuple);
    if (error) result.io = failure(error);
    result.size = n;
    co_return result;
  }
  // A fast peer never lets SSL_read wait: the other connections of the loop must have their turn
  // all the same.
  if (++unbroken_reads_ > 8) {
    unbroken_reads_ = 0;
    co_await asio::post(socket_.get_executor(), asio::use_awaitable);
  }
  for (;;) {
    if (!usable()) {
      result.io = failure(asio::error::operation_aborted);
      co_return result;
    }
    ERR_clear_error();
    errno = 0;
    const int done = SSL_read_ex(ssl_.get(), buffer, size, &result.size);
    if (done == 1) co_return result;
    unbroken_reads_ = 0;
    result.io = co_await tls_wait(done);
    if (result.io != Io::kOk) co_return result;
  }
}

asio::awaitable<Io> Stream::wait_readable() {
  if (!usable()) co_return failure(asio::error::operation_aborted);
  if (ssl_ && SSL_has_pending(ssl_.get()) == 1) co_return Io::kOk;
  const auto [error] = co_await socket_.async_wait(asio::socket_base::wait_read, kTuple);
  co_return error ? failure(error) : Io::kOk;
}

asio::awaitable<Io> Stream::write(std::string_view first, std::string_view second) {
  if (!usable()) co_return failure(asio::error::operation_aborted);
  if (!ssl_) {
    const std::array<asio::const_buffer, 2> parts{asio::buffer(first), asio::buffer(second)};
    const auto [error, n] = co_await asio::async_write(socket_, parts, kTuple);
    co_return error ? failure(error) : Io::kOk;
  }
  // One full record of head and begin of body; the rest goes out from where it lies.
  constexpr std::size_t kRecord = 16384;
  std::string record;
  if (first.size() < kRecord && !second.empty()) {
    const std::size_t joined = std::min(second.size(), kRecord - first.size());
    record.reserve(first.size() + joined);
    record.append(first).append(second.substr(0, joined));
    first = record;
    second.remove_prefix(joined);
  }
  const Io io = co_await tls_write(first);
  if (io != Io::kOk || second.empty()) co_return io;
  co_return co_await tls_write(second);
}

asio::awaitable<Io> Stream::tls_write(std::string_view bytes) {
  while (!bytes.empty()) {
    if (!usable()) co_return failure(asio::error::operation_aborted);
    ERR_clear_error();
    errno = 0;
    std::size_t written = 0;
    const int done = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &written);
    if (done == 1) {
      bytes.remove_prefix(written);
      continue;
    }
    const Io io = co_await tls_wait(done);
    if (io != Io::kOk) co_return io;
  }
  co_return Io::kOk;
}

asio::awaitable<void> Stream::finish(std::size_t most_bytes) {
  error_code error;
  if (ssl_ && is_open() && SSL_is_init_finished(ssl_.get())) SSL_shutdown(ssl_.get());
  ERR_clear_error();
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, error);
  std::array<char, 4096> dropped;
  std::size_t total = 0;
  while (!error && total < most_bytes) {
    const auto [failed, n] = co_await socket_.async_read_some(asio::buffer(dropped), kTuple);
    error = failed;
    total += n;
  }
  close();
}

void Stream::cancel() {
  error_code ignored;
  socket_.cancel(ignored);
}

void Stream::close() {
  clear_deadline();
  error_code ignored;
  socket_.close(ignored);
}

bool Stream::is_open() const { return socket_.is_open(); }

// Before each operation. A closed socket's number may be another connection's by now: OpenSSL must
// not touch it.
bool Stream::usable() const { return socket_.is_open() && !deadline_->passed; }

bool Stream::quiet() {
  if (!socket_.is_open()) return false;
  char byte = 0;
  if (ssl_) {
    ERR_clear_error();
    const int got = SSL_peek(ssl_.get(), &byte, 1);
    const bool waits = got <= 0 && SSL_get_error(ssl_.get(), got) == SSL_ERROR_WANT_READ;
    ERR_clear_error();
    return waits;
  }
  const ssize_t got = ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

PeerCertificatePtr Stream::peer_certificate() const {
  return ssl_ ? presented_certificate(ssl_.get()) : nullptr;
}

std::string Stream::remote() const {
  error_code error;
  const auto peer = socket_.remote_endpoint(error);
  if (error) return "unknown";
  const std::string address = peer.address().to_string();
  return peer.address().is_v6() ? fmt::format("[{}]:{}", address, peer.port())
                                : fmt::format("{}:{}", address, peer.port());
}

}  // namespace loadline::net
