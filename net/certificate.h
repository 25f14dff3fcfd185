// What certificate.cc gives to the other files of net/: OpenSSL's types by forward declaration
// only.
#pragma once

#include "net/tls.h"

#include <string>

struct ssl_st;

namespace loadline::net {

// What the peer of a finished handshake presented; null when it presented nothing.
PeerCertificatePtr presented_certificate(ssl_st* ssl);

// The newest entry of this thread's OpenSSL error queue in words, which is emptied; `fallback` when
// there is none.
std::string take_openssl_error(const std::string& fallback);

}  // namespace loadline::net
