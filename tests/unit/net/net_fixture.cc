#include "tests/unit/net/net_fixture.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <csignal>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace loadline::net {

namespace asio = boost::asio;

namespace {

sockaddr* address_of(sockaddr_in& in) { return static_cast<sockaddr*>(static_cast<void*>(&in)); }

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_port = htons(port);
  in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return in;
}

// OpenSSL's own socket calls, used by the raw ends only, raise it.
[[maybe_unused]] const auto ignored = std::signal(SIGPIPE, SIG_IGN);

}  // namespace

RawSocket::RawSocket(int fd) : fd_(fd) {
  timeval patience{kPatienceSeconds, 0};
  setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
}

RawSocket RawSocket::dial(std::uint16_t port) {
  RawSocket socket(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in in = loopback(port);
  EXPECT_EQ(::connect(socket.fd_, address_of(in), sizeof in), 0) << "port " << port;
  return socket;
}

RawSocket::RawSocket(RawSocket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      reset_(other.reset_),
      ssl_(std::exchange(other.ssl_, nullptr)) {}

RawSocket::~RawSocket() { close(); }

void RawSocket::close() {
  SSL_free(std::exchange(ssl_, nullptr));
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

void RawSocket::send(const std::string& bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const std::size_t left = bytes.size() - done;
    const long n = ssl_ != nullptr ? SSL_write(ssl_, bytes.data() + done, static_cast<int>(left))
                                   : ::send(fd_, bytes.data() + done, left, MSG_NOSIGNAL);
    if (n <= 0) return;
    done += static_cast<std::size_t>(n);
  }
}

long RawSocket::receive(char* buffer, std::size_t size) {
  if (ssl_ != nullptr) return SSL_read(ssl_, buffer, static_cast<int>(size));
  const long n = ::recv(fd_, buffer, size, 0);
  if (n < 0) {
    reset_ = errno == ECONNRESET;
    EXPECT_NE(errno, EAGAIN) << "the peer neither wrote nor closed";
  }
  return n;
}

std::string RawSocket::read_to_end() {
  std::string all;
  std::array<char, 65536> buffer;
  for (;;) {
    const long n = receive(buffer.data(), buffer.size());
    if (n <= 0) return all;
    all.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

std::string RawSocket::read_until(const std::string& s) {
  std::string all;
  char byte = 0;
  while (all.find(s) == std::string::npos && receive(&byte, 1) == 1) all += byte;
  return all;
}

void RawSocket::shut_down_sending() { ::shutdown(fd_, SHUT_WR); }

void RawSocket::reset_on_close() {
  const linger at_once{1, 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

bool RawSocket::start_tls(const TlsContext& context, bool as_server) {
  ssl_ = SSL_new(context->native_handle());
  SSL_set_fd(ssl_, fd_);
  return (as_server ? SSL_accept(ssl_) : SSL_connect(ssl_)) == 1;
}

void RawSocket::say_tls_goodbye() { SSL_shutdown(ssl_); }

RawServer::RawServer(std::function<void(RawSocket&, int)> script) : script_(std::move(script)) {
  listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in in = loopback(0);
  socklen_t size = sizeof in;
  EXPECT_EQ(::bind(listener_, address_of(in), size), 0);
  EXPECT_EQ(::listen(listener_, 16), 0);
  ::getsockname(listener_, address_of(in), &size);
  port_ = ntohs(in.sin_port);
  thread_ = std::thread([this] {
    for (int number = 0;; ++number) {
      const int fd = ::accept(listener_, nullptr, nullptr);
      if (fd < 0) return;
      RawSocket socket(fd);
      script_(socket, number);
    }
  });
}

RawServer::~RawServer() {
  ::shutdown(listener_, SHUT_RDWR);
  thread_.join();
  ::close(listener_);
}

HttpHandler ServerThread::echo_handler() {
  return [](std::shared_ptr<const ServerRequest> request) -> asio::awaitable<ServerResponse> {
    ServerResponse response;
    response.content_type = "text/plain";
    response.body = std::make_shared<const std::string>(request->method + " " + request->target +
                                                        " " + request->body);
    co_return response;
  };
}

ServerThread::ServerThread(HttpServer::Options options, HttpHandler handler) {
  options.bind_address = "127.0.0.1";
  auto on_error = [](int status, const std::string& message) {
    ServerResponse response;
    response.status = status;
    response.content_type = "text/plain";
    response.body = std::make_shared<const std::string>(message);
    return response;
  };
  server_ = std::make_unique<HttpServer>(loop_.get_executor(), std::move(options),
                                         std::move(handler), std::move(on_error));
  const Status started = server_->start();
  EXPECT_TRUE(started) << started.error().message;
  port_ = server_->port();
  thread_ = std::thread([this] {
    const auto guard = asio::make_work_guard(loop_);
    loop_.run();
  });
}

void ServerThread::stop(std::chrono::milliseconds drain) {
  asio::co_spawn(loop_, server_->stop(drain), asio::use_future).get();
}

ServerThread::~ServerThread() {
  stop(std::chrono::milliseconds(0));
  loop_.stop();
  thread_.join();
}

}  // namespace loadline::net
