#include "server/identity/tls_material.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <utility>
#include <vector>

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
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* connection) const { SSL_free(connection); }
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

// Returns the reason of OpenSSL's last error, such as "ee key too small".
std::string OpenSslError() {
  const char* const reason = ERR_reason_error_string(ERR_peek_last_error());
  return reason == nullptr ? "unknown error" : reason;
}

std::unique_ptr<BIO, Free> BioOf(const std::string& text) {
  return std::unique_ptr<BIO, Free>(
      BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// Nobody is asked for a password.
int NoPassword(char*, int, int, void*) { return -1; }

// Returns all certificates of a file. gRPC silently ends a chain at the first
// one that it cannot read, and clients then refuse what is left.
absl::StatusOr<std::vector<Certificate>> ParseCertificates(
    absl::string_view option, const std::string& path,
    const std::string& text) {
  ERR_clear_error();
  const auto bio = BioOf(text);
  std::vector<Certificate> certificates;
  while (true) {
    Certificate next(
        PEM_read_bio_X509_AUX(bio.get(), nullptr, &NoPassword, nullptr));
    if (next == nullptr) break;
    certificates.push_back(std::move(next));
  }
  const unsigned long error = ERR_peek_last_error();
  const bool is_end = ERR_GET_LIB(error) == ERR_LIB_PEM &&
                      ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
  if (is_end && !certificates.empty()) {
    ERR_clear_error();
    return certificates;
  }
  if (is_end) {
    return BadFile(option, path, "must hold certificates in PEM");
  }
  return BadFile(option, path,
                 absl::StrCat("certificate ", certificates.size() + 1,
                              " of the file cannot be read (", OpenSslError(),
                              "); replace it or remove it"));
}

int64_t ExpiryOf(const X509& certificate) {
  std::tm time = {};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(&certificate), &time) != 1) return 0;
  return ::timegm(&time);
}

// The cipher suites that gRPC 1.51 offers.
constexpr char kGrpcCiphers[] =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:"
    "TLS_CHACHA20_POLY1305_SHA256:ECDHE-ECDSA-AES128-GCM-SHA256:"
    "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES128-GCM-SHA256:"
    "ECDHE-RSA-AES256-GCM-SHA384";

using Context = std::unique_ptr<SSL_CTX, Free>;

// Makes the context of a server as gRPC does. OpenSSL refuses certificates here
// whose keys or signatures are too weak for the security level of the machine.
absl::StatusOr<Context> ServerContext(
    const config::v1::TlsOptions& options,
    const std::vector<Certificate>& certificates, EVP_PKEY* key) {
  Context context(SSL_CTX_new(TLS_method()));
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_cipher_list(context.get(), kGrpcCiphers);
  for (size_t i = 0; i < certificates.size(); ++i) {
    X509* const certificate = certificates[i].get();
    const long added =
        i == 0 ? SSL_CTX_use_certificate(context.get(), certificate)
               : SSL_CTX_add1_chain_cert(context.get(), certificate);
    if (added == 1) continue;
    return BadFile("tls.certificate_file", options.certificate_file(),
                   absl::StrCat("certificate ", i + 1,
                                " of the file cannot be used (", OpenSslError(),
                                "); RSA keys must have at least 2048 bits and "
                                "signatures SHA-256"));
  }
  if (SSL_CTX_use_PrivateKey(context.get(), key) == 1) return context;
  return BadFile("tls.key_file", options.key_file(),
                 absl::StrCat("cannot be used (", OpenSslError(), ")"));
}

// Lets the two ends of a connection in memory go on in turns. Returns whether
// both have finished the handshake.
bool ShakeHands(SSL* server, SSL* client) {
  constexpr int kMaxTurns = 10;  // TLS takes three.
  for (int i = 0; i < kMaxTurns; ++i) {
    const int client_done = SSL_do_handshake(client);
    const int server_done = SSL_do_handshake(server);
    if (client_done == 1 && server_done == 1) return true;
    if (SSL_get_error(server, server_done) == SSL_ERROR_SSL) return false;
    if (SSL_get_error(client, client_done) == SSL_ERROR_SSL) return false;
  }
  return false;
}

// Fails if clients cannot make connections, whoever they trust: for example,
// because gRPC has no cipher suite for the kind of the key.
absl::Status CheckHandshake(const config::v1::TlsOptions& options,
                            SSL_CTX* context) {
  const Context client_context(SSL_CTX_new(TLS_client_method()));
  const std::unique_ptr<SSL, Free> server(SSL_new(context));
  const std::unique_ptr<SSL, Free> client(SSL_new(client_context.get()));
  BIO* server_end = nullptr;
  BIO* client_end = nullptr;
  BIO_new_bio_pair(&server_end, 0, &client_end, 0);
  SSL_set_bio(server.get(), server_end, server_end);  // Takes it over.
  SSL_set_bio(client.get(), client_end, client_end);
  SSL_set_accept_state(server.get());
  SSL_set_connect_state(client.get());
  ERR_clear_error();
  if (ShakeHands(server.get(), client.get())) return absl::OkStatus();
  return BadFile(
      "tls.certificate_file", options.certificate_file(),
      absl::StrCat("no client can connect with it (", OpenSslError(), ")"));
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
      const std::vector<Certificate> certificates,
      ParseCertificates("tls.certificate_file", options.certificate_file(),
                        material.certificate_chain));
  ASSIGN_OR_RETURN(material.key, ReadPem("tls.key_file", options.key_file()));
  const Key key(PEM_read_bio_PrivateKey(BioOf(material.key).get(), nullptr,
                                        &NoPassword, nullptr));
  if (key == nullptr) {
    return BadFile("tls.key_file", options.key_file(),
                   "must hold a private key in PEM, not encrypted");
  }
  if (X509_check_private_key(certificates[0].get(), key.get()) != 1) {
    return BadFile("tls.key_file", options.key_file(),
                   "is not the key of tls.certificate_file");
  }
  ASSIGN_OR_RETURN(const Context context,
                   ServerContext(options, certificates, key.get()));
  RETURN_IF_ERROR(CheckHandshake(options, context.get()));
  WarnOfReaders(options.key_file());
  if (!options.client_ca_file().empty()) {
    ASSIGN_OR_RETURN(material.client_ca,
                     ReadPem("tls.client_ca_file", options.client_ca_file()));
    RETURN_IF_ERROR(ParseCertificates("tls.client_ca_file",
                                      options.client_ca_file(),
                                      material.client_ca)
                        .status());
  }
  material.expires_time_s = ExpiryOf(*certificates[0]);
  for (const Certificate& certificate : certificates) {
    material.expires_time_s =
        std::min(material.expires_time_s, ExpiryOf(*certificate));
  }
  return material;
}

}  // namespace sortition
