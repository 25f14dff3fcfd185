#include "net/tls.h"

#include "net/certificate.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/ssl/context.hpp>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <array>
#include <string_view>

namespace loadline::net {
namespace {

namespace ssl = boost::asio::ssl;

constexpr std::string_view kAlpn("\x08http/1.1", 9);

const unsigned char* bytes(std::string_view text) {
  return static_cast<const unsigned char*>(static_cast<const void*>(text.data()));
}

int choose_alpn(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* in,
                unsigned in_size, void*) {
  unsigned char* chosen = nullptr;
  const int found = SSL_select_next_proto(&chosen, out_size, bytes(kAlpn),
                                          static_cast<unsigned>(kAlpn.size()), in, in_size);
  *out = chosen;
  return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

int accept_any_certificate(X509_STORE_CTX*, void*) { return 1; }

TlsContext make_context(ssl::context::method method) {
  auto context = std::make_shared<ssl::context>(method);
  SSL_CTX* native = context->native_handle();
  SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  SSL_CTX_set_options(native, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  // Idle connections give their record buffers back; a record's head and body come by one system
  // call.
  SSL_CTX_set_mode(native, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                               SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(native, 1);
  SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
  return context;
}

// Without it OpenSSL would ask the terminal for the pass phrase of an encrypted key.
int no_pass_phrase(char*, int, int, void*) { return 0; }

Status use_pair(const TlsContext& context, const std::string& certificate_pem,
                const std::string& key_pem) {
  SSL_CTX* native = context->native_handle();
  SSL_CTX_set_default_passwd_cb(native, no_pass_phrase);
  boost::system::error_code error;
  context->use_certificate_chain(boost::asio::buffer(certificate_pem), error);
  if (error)
    return Error(
        Code::kBadRequest,
        "no usable certificate in PEM form (-----BEGIN CERTIFICATE-----): " + error.message());
  context->use_private_key(boost::asio::buffer(key_pem), ssl::context::pem, error);
  if (error) {
    // use_private_key also finds a key that does not belong to the certificate.
    return Error(Code::kBadRequest,
                 "the private key is not usable (an encrypted one is not "
                 "supported, and it must be the certificate's): " +
                     error.message());
  }
  if (SSL_CTX_check_private_key(native) != 1) {
    return Error(Code::kBadRequest, "the private key is not the certificate's");
  }
  return {};
}

}  // namespace

Result<TlsContext> make_server_context(const std::string& certificate_pem,
                                       const std::string& key_pem) {
  TlsContext context = make_context(ssl::context::tls_server);
  if (auto status = use_pair(context, certificate_pem, key_pem); !status) {
    return with_context("serving certificate", std::move(status).error());
  }
  SSL_CTX* native = context->native_handle();
  SSL_CTX_set_cipher_list(native, "ECDHE+AESGCM:ECDHE+CHACHA20");
  SSL_CTX_set_alpn_select_cb(native, choose_alpn, nullptr);
  SSL_CTX_set_verify(native, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_cert_verify_callback(native, accept_any_certificate, nullptr);
  constexpr std::string_view kSessionContext = "loadline";
  SSL_CTX_set_session_id_context(native, bytes(kSessionContext),
                                 static_cast<unsigned>(kSessionContext.size()));
  // Resuming saves nothing against an ECDSA certificate, and the aggregator never does it.
  SSL_CTX_set_options(native, SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(native, 0);
  return context;
}

Result<TlsContext> make_client_context(const ClientTls& tls) {
  TlsContext context = make_context(ssl::context::tls_client);
  SSL_CTX* native = context->native_handle();
  SSL_CTX_set_alpn_protos(native, bytes(kAlpn), static_cast<unsigned>(kAlpn.size()));
  if (tls.certificate_pem.empty() != tls.key_pem.empty()) {
    return Error(Code::kBadRequest, "client certificate and key: give both or none");
  }
  if (!tls.certificate_pem.empty()) {
    if (auto status = use_pair(context, tls.certificate_pem, tls.key_pem); !status) {
      return with_context("client certificate", std::move(status).error());
    }
  }
  if (tls.insecure_skip_verify) {
    SSL_CTX_set_verify(native, SSL_VERIFY_NONE, nullptr);
    return context;
  }
  SSL_CTX_set_verify(native, SSL_VERIFY_PEER, nullptr);
  boost::system::error_code error;
  if (tls.ca_pem.empty()) {
    context->set_default_verify_paths(error);
  } else {
    if (tls.ca_pem.find("-----BEGIN CERTIFICATE-----") == std::string::npos) {
      return Error(Code::kBadRequest, "CA bundle: no PEM certificate found in it");
    }
    context->add_certificate_authority(boost::asio::buffer(tls.ca_pem), error);
  }
  if (error) return Error(Code::kBadRequest, "CA bundle: " + error.message());
  // Each certificate of the bundle is an anchor, also one that is not self-signed: as clients in Go
  // take it.
  X509_STORE_set_flags(SSL_CTX_get_cert_store(native), X509_V_FLAG_PARTIAL_CHAIN);
  return context;
}

}  // namespace loadline::net
