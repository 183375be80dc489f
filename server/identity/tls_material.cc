#include "server/identity/tls_material.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/stat.h>

#include <ctime>
#include <memory>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/models/regular_file.h"
#include "process/log.h"

namespace sortition {
namespace {

constexpr uint64_t kMaxFileBytes = 1 << 20;

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using Certificate = std::unique_ptr<X509, Free>;
using Key = std::unique_ptr<EVP_PKEY, Free>;

absl::Status BadFile(absl::string_view option, const std::string& path,
                     absl::string_view what) {
  ERR_clear_error();
  return absl::InvalidArgumentError(
      absl::StrCat(option, " = \"", path, "\": ", what));
}

absl::StatusOr<std::string> ReadPem(absl::string_view option,
                                    const std::string& path) {
  auto text = ReadRegularFile(path, kMaxFileBytes);
  if (text.ok()) return text;
  return BadFile(option, path,
                 absl::StrCat("must be a PEM file: ", text.status().message()));
}

std::unique_ptr<BIO, Free> BioOf(const std::string& text) {
  return std::unique_ptr<BIO, Free>(
      BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// Nobody is asked for a password.
int NoPassword(char*, int, int, void*) { return -1; }

absl::StatusOr<Certificate> ParseCertificate(absl::string_view option,
                                             const std::string& path,
                                             const std::string& text) {
  Certificate certificate(
      PEM_read_bio_X509(BioOf(text).get(), nullptr, &NoPassword, nullptr));
  if (certificate != nullptr) return certificate;
  return BadFile(option, path, "must hold certificates in PEM");
}

int64_t ExpiryOf(const X509& certificate) {
  std::tm time = {};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(&certificate), &time) != 1) return 0;
  return ::timegm(&time);
}

// The key is a secret of the user who runs the server.
void WarnOfReaders(const std::string& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) == 0 && (info.st_mode & 0007) != 0) {
    LogWarning("tls.key_file can be read by every user", {{"path", path}});
  }
}

}  // namespace

absl::StatusOr<TlsMaterial> ReadTlsMaterial(
    const config::v1::TlsOptions& options) {
  TlsMaterial material;
  ASSIGN_OR_RETURN(material.certificate_chain,
                   ReadPem("tls.certificate_file", options.certificate_file()));
  ASSIGN_OR_RETURN(
      const Certificate certificate,
      ParseCertificate("tls.certificate_file", options.certificate_file(),
                       material.certificate_chain));
  ASSIGN_OR_RETURN(material.key, ReadPem("tls.key_file", options.key_file()));
  const Key key(PEM_read_bio_PrivateKey(BioOf(material.key).get(), nullptr,
                                        &NoPassword, nullptr));
  if (key == nullptr) {
    return BadFile("tls.key_file", options.key_file(),
                   "must hold a private key in PEM, not encrypted");
  }
  if (X509_check_private_key(certificate.get(), key.get()) != 1) {
    return BadFile("tls.key_file", options.key_file(),
                   "is not the key of tls.certificate_file");
  }
  WarnOfReaders(options.key_file());
  if (!options.client_ca_file().empty()) {
    ASSIGN_OR_RETURN(material.client_ca,
                     ReadPem("tls.client_ca_file", options.client_ca_file()));
    RETURN_IF_ERROR(ParseCertificate("tls.client_ca_file",
                                     options.client_ca_file(),
                                     material.client_ca)
                        .status());
  }
  material.expires_time_s = ExpiryOf(*certificate);
  return material;
}

}  // namespace sortition
