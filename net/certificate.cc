#include "net/certificate.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <array>
#include <utility>
#include <vector>

namespace loadline::net {
namespace {

struct FreeX509 {
  void operator()(X509* x) const { X509_free(x); }
};
using X509Ptr = std::unique_ptr<X509, FreeX509>;

// Every certificate of a PEM text; other blocks between them are skipped.
Result<std::vector<X509Ptr>> parse_certificates(const std::string& pem) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free);
  if (!bio) return Error(Code::kInternal, "out of memory while certificates were read");
  std::vector<X509Ptr> certificates;
  ERR_clear_error();
  while (X509* x = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) {
    certificates.emplace_back(x);
  }
  const unsigned long last = ERR_peek_last_error();
  const bool at_end = last == 0 || ERR_GET_REASON(last) == PEM_R_NO_START_LINE;
  const std::string reason = take_openssl_error("unknown reason");
  if (!at_end) {
    return Error(Code::kBadRequest, fmt::format("PEM certificate number {} cannot be parsed: {}",
                                                certificates.size() + 1, reason));
  }
  if (certificates.empty()) {
    return Error(Code::kBadRequest, "no PEM certificate found; expected BEGIN CERTIFICATE blocks");
  }
  return certificates;
}

std::string utf8(const ASN1_STRING* text) {
  unsigned char* bytes = nullptr;
  const int size = ASN1_STRING_to_UTF8(&bytes, text);
  if (size < 0) return {};
  std::string result(bytes, bytes + size);
  OPENSSL_free(bytes);
  return result;
}

std::vector<std::string> name_entries(X509* certificate, int nid) {
  X509_NAME* name = X509_get_subject_name(certificate);
  std::vector<std::string> values;
  for (int i = X509_NAME_get_index_by_NID(name, nid, -1); i >= 0;
       i = X509_NAME_get_index_by_NID(name, nid, i)) {
    values.push_back(utf8(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, i))));
  }
  return values;
}

std::string sha256_of(X509* certificate) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  std::string hex;
  if (X509_digest(certificate, EVP_sha256(), digest.data(), &size) != 1) return hex;
  for (unsigned i = 0; i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

}  // namespace

class PeerCertificate {
 public:
  PeerCertificate(X509Ptr leaf, std::vector<X509Ptr> rest)
      : leaf_(std::move(leaf)), rest_(std::move(rest)) {}
  X509* leaf() const { return leaf_.get(); }
  const std::vector<X509Ptr>& rest() const { return rest_; }

 private:
  X509Ptr leaf_;
  std::vector<X509Ptr> rest_;
};

namespace {

class StoreVerifier final : public ClientCertificateVerifier {
 public:
  using Store = std::unique_ptr<X509_STORE, decltype(&X509_STORE_free)>;
  explicit StoreVerifier(Store store) : store_(std::move(store)) {}

  Result<CertificateSubject> verify(const PeerCertificate& peer) const override {
    const std::unique_ptr<STACK_OF(X509), void (*)(STACK_OF(X509)*)> rest(
        sk_X509_new_null(), [](STACK_OF(X509) * s) { sk_X509_free(s); });
    const std::unique_ptr<X509_STORE_CTX, decltype(&X509_STORE_CTX_free)> check(
        X509_STORE_CTX_new(), &X509_STORE_CTX_free);
    if (!rest || !check) return Error(Code::kInternal, "out of memory during verification");
    for (const auto& x : peer.rest()) sk_X509_push(rest.get(), x.get());
    if (X509_STORE_CTX_init(check.get(), store_.get(), peer.leaf(), rest.get()) != 1 ||
        X509_STORE_CTX_set_purpose(check.get(), X509_PURPOSE_SSL_CLIENT) != 1) {
      return Error(Code::kInternal, take_openssl_error("verification cannot be set up"));
    }
    if (X509_verify_cert(check.get()) != 1) {
      const char* reason = X509_verify_cert_error_string(X509_STORE_CTX_get_error(check.get()));
      ERR_clear_error();
      return Error(Code::kUnauthorized, fmt::format("client certificate refused: {}", reason));
    }
    CertificateSubject subject;
    // The last one, as Go's pkix.Name reads it.
    const auto names = name_entries(peer.leaf(), NID_commonName);
    if (!names.empty()) subject.common_name = names.back();
    subject.organizations = name_entries(peer.leaf(), NID_organizationName);
    subject.sha256_hex = sha256_of(peer.leaf());
    return subject;
  }

 private:
  Store store_;
};

}  // namespace

Result<std::shared_ptr<const ClientCertificateVerifier>> ClientCertificateVerifier::create(
    const std::string& ca_pem) {
  auto certificates = parse_certificates(ca_pem);
  if (!certificates) return with_context("client CA bundle", std::move(certificates).error());
  StoreVerifier::Store store(X509_STORE_new(), &X509_STORE_free);
  if (!store) return Error(Code::kInternal, "out of memory for a client CA bundle");
  for (const auto& x : *certificates) {
    if (X509_STORE_add_cert(store.get(), x.get()) != 1) {
      return Error(Code::kBadRequest, take_openssl_error("client CA bundle: refused by OpenSSL"));
    }
  }
  // Each certificate of the bundle is an anchor, an intermediate one too: as in Go's verifier, so
  // in kube-apiserver's.
  X509_STORE_set_flags(store.get(), X509_V_FLAG_PARTIAL_CHAIN);
  return std::shared_ptr<const ClientCertificateVerifier>(
      std::make_shared<const StoreVerifier>(std::move(store)));
}

Result<PeerCertificatePtr> peer_certificate_from_pem(const std::string& chain_pem) {
  auto chain = parse_certificates(chain_pem);
  if (!chain) return std::move(chain).error();
  X509Ptr leaf = std::move(chain->front());
  chain->erase(chain->begin());
  return PeerCertificatePtr(
      std::make_shared<const PeerCertificate>(std::move(leaf), std::move(*chain)));
}

PeerCertificatePtr presented_certificate(ssl_st* ssl) {
  X509Ptr leaf(SSL_get1_peer_certificate(ssl));
  if (!leaf) return nullptr;
  std::vector<X509Ptr> rest;
  STACK_OF(X509)* chain = SSL_get_peer_cert_chain(ssl);
  for (int i = 0; i < sk_X509_num(chain); ++i) {
    X509* x = sk_X509_value(chain, i);
    if (X509_cmp(x, leaf.get()) == 0) continue;
    X509_up_ref(x);
    rest.emplace_back(x);
  }
  return std::make_shared<const PeerCertificate>(std::move(leaf), std::move(rest));
}

std::string take_openssl_error(const std::string& fallback) {
  const unsigned long code = ERR_peek_last_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  std::string text = reason == nullptr ? fallback : reason;
  ERR_clear_error();
  return text;
}

}  // namespace loadline::net
