// Making keys and certificates (P-256: the cheapest to sign with that every client takes).
#include "base/clock.h"
#include "net/certificate.h"

#include <fmt/format.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <array>
#include <chrono>
#include <ctime>
#include <string_view>

namespace loadline::net {
namespace {

template <auto Free>
struct Freeing {
  template <class T>
  void operator()(T* t) const {
    Free(t);
  }
};
using KeyPtr = std::unique_ptr<EVP_PKEY, Freeing<EVP_PKEY_free>>;
using X509Ptr = std::unique_ptr<X509, Freeing<X509_free>>;
using BioPtr = std::unique_ptr<BIO, Freeing<BIO_free>>;
using NamesPtr = std::unique_ptr<GENERAL_NAMES, Freeing<GENERAL_NAMES_free>>;
using IpPtr = std::unique_ptr<ASN1_OCTET_STRING, Freeing<ASN1_OCTET_STRING_free>>;
using ExtensionPtr = std::unique_ptr<X509_EXTENSION, Freeing<X509_EXTENSION_free>>;

Error failure(const std::string& what) {
  return Error(Code::kInternal, what + ": " + take_openssl_error("OpenSSL gives no reason"));
}

std::string content(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return std::string(data, static_cast<std::size_t>(size));
}

bool add_entry(X509_NAME* name, const char* field, const std::string& value) {
  const void* bytes = value.data();
  return X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                                    static_cast<const unsigned char*>(bytes),
                                    static_cast<int>(value.size()), -1, 0) == 1;
}

bool add_extension(X509* certificate, X509* issuer, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const ExtensionPtr extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

// By the structures and not by a configuration string, in which a comma in a name would add another
// name.
bool add_names(X509* certificate, const std::vector<std::string>& names) {
  if (names.empty()) return true;
  const NamesPtr all(GENERAL_NAMES_new());
  for (const std::string& text : names) {
    GENERAL_NAME* name = GENERAL_NAME_new();
    if (!all || name == nullptr || sk_GENERAL_NAME_push(all.get(), name) == 0) {
      GENERAL_NAME_free(name);
      return false;
    }
    if (IpPtr ip(a2i_IPADDRESS(text.c_str())); ip) {
      GENERAL_NAME_set0_value(name, GEN_IPADD, ip.release());
      continue;
    }
    ASN1_IA5STRING* dns = ASN1_IA5STRING_new();
    if (dns == nullptr) return false;
    GENERAL_NAME_set0_value(name, GEN_DNS, dns);
    if (ASN1_STRING_set(dns, text.data(), static_cast<int>(text.size())) != 1) return false;
  }
  return X509_add1_ext_i2d(certificate, NID_subject_alt_name, all.get(), 0, 0) == 1;
}

bool set_serial(X509* certificate) {
  std::array<unsigned char, 8> random;
  if (RAND_bytes(random.data(), static_cast<int>(random.size())) != 1) return false;
  std::uint64_t number = 0;
  for (const unsigned char byte : random) number = number << 8 | byte;
  return ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), number >> 1) == 1;
}

bool set_validity(X509* certificate, int days) {
  constexpr std::time_t kHour = 3600;
  const std::time_t now = std::chrono::system_clock::to_time_t(system_clock().wall_now());
  const std::time_t end = now + days * 24 * kHour;
  const std::time_t begin = std::min(now, end) - kHour;
  return ASN1_TIME_set(X509_getm_notBefore(certificate), begin) != nullptr &&
         ASN1_TIME_set(X509_getm_notAfter(certificate), end) != nullptr;
}

struct Issuer {
  X509Ptr certificate;  // null: self-signed
  KeyPtr key;
};

struct Subject {
  const std::string& common_name;
  const std::vector<std::string>& organizations;
  const std::vector<std::string>& names;
  int days;
};

Result<KeyPair> issue(const Issuer& ca, const Subject& subject) {
  const KeyPtr key(EVP_EC_gen("P-256"));
  const X509Ptr certificate(X509_new());
  if (!key || !certificate) return failure("cannot make a key pair");
  X509* x = certificate.get();
  const bool self = !ca.certificate;
  X509* issuer = self ? x : ca.certificate.get();
  X509_NAME* name = X509_get_subject_name(x);
  bool good = X509_set_version(x, 2) == 1 && set_serial(x) && set_validity(x, subject.days) &&
              X509_set_pubkey(x, key.get()) == 1;
  for (const std::string& o : subject.organizations) good = good && add_entry(name, "O", o);
  good =
      good && (subject.common_name.empty() || add_entry(name, "CN", subject.common_name)) &&
      X509_set_issuer_name(x, X509_get_subject_name(issuer)) == 1 &&
      add_extension(x, issuer, NID_subject_key_identifier, "hash") &&
      add_extension(x, issuer, NID_authority_key_identifier, "keyid") &&
      add_extension(x, issuer, NID_basic_constraints,
                    self ? "critical,CA:TRUE" : "critical,CA:FALSE") &&
      add_extension(x, issuer, NID_key_usage,
                    self ? "critical,digitalSignature,keyCertSign" : "critical,digitalSignature") &&
      add_extension(x, issuer, NID_ext_key_usage, "serverAuth,clientAuth") &&
      add_names(x, subject.names) &&
      X509_sign(x, self ? key.get() : ca.key.get(), EVP_sha256()) > 0;
  const BioPtr certificate_pem(BIO_new(BIO_s_mem()));
  const BioPtr key_pem(BIO_new(BIO_s_mem()));
  if (!good || PEM_write_bio_X509(certificate_pem.get(), x) != 1 ||
      PEM_write_bio_PrivateKey(key_pem.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) !=
          1) {
    return failure(fmt::format("cannot make a certificate for {}", subject.common_name));
  }
  KeyPair pair;
  pair.certificate_pem = content(certificate_pem.get());
  pair.key_pem = content(key_pem.get());
  return pair;
}

int no_pass_phrase(char*, int, int, void*) { return 0; }

}  // namespace

Result<KeyPair> make_self_signed(const std::string& common_name,
                                 const std::vector<std::string>& names, int days) {
  const std::vector<std::string> no_organizations;
  return issue(Issuer{}, Subject{common_name, no_organizations, names, days});
}

Result<KeyPair> make_signed(const KeyPair& ca, const std::string& common_name,
                            const std::vector<std::string>& organizations,
                            const std::vector<std::string>& names, int days) {
  const BioPtr certificate_pem(
      BIO_new_mem_buf(ca.certificate_pem.data(), static_cast<int>(ca.certificate_pem.size())));
  const BioPtr key_pem(BIO_new_mem_buf(ca.key_pem.data(), static_cast<int>(ca.key_pem.size())));
  Issuer issuer;
  issuer.certificate.reset(
      PEM_read_bio_X509(certificate_pem.get(), nullptr, no_pass_phrase, nullptr));
  issuer.key.reset(PEM_read_bio_PrivateKey(key_pem.get(), nullptr, no_pass_phrase, nullptr));
  if (!issuer.certificate || !issuer.key) return failure("cannot read the CA's certificate or key");
  return issue(issuer, Subject{common_name, organizations, names, days});
}

}  // namespace loadline::net
