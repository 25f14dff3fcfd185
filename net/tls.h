// TLS material and contexts. Everything here is built from PEM text that the caller has read; a
// context is immutable once built (a rotation builds a new one and swaps the pointer). Errors name
// the thing that is wrong, never its content.
#pragma once

#include "base/result.h"

#include <memory>
#include <string>
#include <vector>

namespace boost::asio::ssl {
class context;
}

namespace loadline::net {

using TlsContext = std::shared_ptr<boost::asio::ssl::context>;

// For a server: asks for a client certificate, takes any or none (who it is, apiserver/ decides),
// TLS 1.2 and 1.3, ALPN http/1.1 only, no tickets for a session without ALPN.
Result<TlsContext> make_server_context(const std::string& certificate_pem,
                                       const std::string& key_pem);

struct ClientTls {
  std::string ca_pem;  // empty: the system's roots
  bool insecure_skip_verify = false;
  std::string certificate_pem, key_pem;  // both or none
};
Result<TlsContext> make_client_context(const ClientTls& tls);

// A key and a certificate signed by itself, for the demo and for tests.
struct KeyPair {
  std::string certificate_pem, key_pem;
};
// names: DNS names and IP literals for subjectAltName; valid from one hour ago for `days`.
Result<KeyPair> make_self_signed(const std::string& common_name,
                                 const std::vector<std::string>& names, int days = 365);
// The same signed by `ca`; organizations become O, client_auth/server_auth both set as extended key
// usage.
Result<KeyPair> make_signed(const KeyPair& ca, const std::string& common_name,
                            const std::vector<std::string>& organizations,
                            const std::vector<std::string>& names, int days = 365);

// What a TLS peer presented, unverified: leaf and the rest of its chain. Immutable, thread-safe.
class PeerCertificate;
using PeerCertificatePtr = std::shared_ptr<const PeerCertificate>;

// Who a verified client certificate is.
struct CertificateSubject {
  std::string common_name;
  std::vector<std::string> organizations;
  std::string sha256_hex;  // of the DER, lower case
};

// Verifies client certificates against a CA bundle (time, chain, clientAuth usage). Thread-safe,
// immutable.
class ClientCertificateVerifier {
 public:
  // Empty or unparsable bundles are errors.
  static Result<std::shared_ptr<const ClientCertificateVerifier>> create(const std::string& ca_pem);
  virtual ~ClientCertificateVerifier() = default;
  virtual Result<CertificateSubject> verify(const PeerCertificate& peer) const = 0;
};

// A peer made from PEM (leaf first), for tests.
Result<PeerCertificatePtr> peer_certificate_from_pem(const std::string& chain_pem);

}  // namespace loadline::net
