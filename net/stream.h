// One TCP connection, plain or TLS, under one deadline: the bytes below our client and our server.
// Loop-bound: every call on the executor's thread, one read and one write at a time. OpenSSL works
// on the socket itself, without buffers between: an idle TLS connection holds about 16 KiB.
#pragma once

#include "base/clock.h"
#include "net/tls.h"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

struct ssl_st;

namespace loadline::net {

enum class Io {
  kOk,
  kEnd,        // the peer has closed, and said so (TLS: close_notify came)
  kCut,        // TLS: the connection ended without close_notify, so something may be missing
  kFailed,     // refused, reset, a TLS error; why() tells
  kTimeout,    // the deadline has passed
  kCancelled,  // cancel(), close() or the coroutine's cancellation
};

struct ReadResult {
  Io io = Io::kOk;
  std::size_t size = 0;  // above 0 when kOk
};

class Stream {
 public:
  explicit Stream(boost::asio::any_io_executor executor);
  explicit Stream(boost::asio::ip::tcp::socket socket);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // When it passes, what waits ends with kTimeout, and so does all that is begun before a new
  // deadline is set; the connection stays, for a last word. SteadyTime::max(): none. Cheap to move
  // later.
  void set_deadline(SteadyTime deadline);
  // As max(), and no timer stays behind that would keep the loop running.
  void clear_deadline();

  boost::asio::awaitable<Io> connect(boost::asio::ip::tcp::endpoint peer);

  // name: sent as SNI and looked for in the certificate; an IP literal is only looked for.
  boost::asio::awaitable<Io> client_handshake(TlsContext context, std::string name);
  boost::asio::awaitable<Io> server_handshake(TlsContext context);

  // Ends as soon as there are some bytes.
  boost::asio::awaitable<ReadResult> read_some(char* buffer, std::size_t size);
  // Ends when read_some would not wait, without holding a buffer meanwhile.
  boost::asio::awaitable<Io> wait_readable();
  // Both parts, in one system call where they are small. The bytes must outlive the call.
  boost::asio::awaitable<Io> write(std::string_view first, std::string_view second);

  // Says goodbye, reads and drops at most most_bytes of what still comes, until the peer closes or
  // the deadline passes, then closes: the peer sees all that was written, never a reset.
  boost::asio::awaitable<void> finish(std::size_t most_bytes);

  void cancel();  // what waits ends with kCancelled; the connection stays
  void close();
  bool is_open() const;
  // Nothing has come since the last read: neither bytes nor the end. For a kept connection about to
  // be used again.
  bool quiet();

  // After kFailed: the reason in words.
  const std::string& why() const { return why_; }
  PeerCertificatePtr peer_certificate() const;
  std::string remote() const;  // "127.0.0.1:4711", "[::1]:4711"

 private:
  struct Deadline;
  struct FreeSsl {
    void operator()(ssl_st* ssl) const;
  };
  Io start_tls(const TlsContext& context);
  boost::asio::awaitable<Io> handshake();
  boost::asio::awaitable<Io> tls_wait(int result);
  boost::asio::awaitable<Io> tls_write(std::string_view bytes);
  bool usable() const;
  Io failure(const boost::system::error_code& error);

  boost::asio::ip::tcp::socket socket_;
  std::unique_ptr<ssl_st, FreeSsl> ssl_;
  TlsContext context_;
  std::shared_ptr<Deadline> deadline_;
  std::string why_;
  unsigned unbroken_reads_ = 0;  // without waiting, since the loop last had its turn
  bool peer_closed_ = false;     // recv() has said 0
};

}  // namespace loadline::net
