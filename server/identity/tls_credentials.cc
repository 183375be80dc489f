#include "server/identity/tls_credentials.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>

#include <string>

namespace sortition {
namespace {

class ReloadingCredentials final : public grpc::ServerCredentials {
 public:
  ReloadingCredentials(const TlsSource* source, bool asks_for_certificate)
      : source_(source),
        credentials_(grpc_ssl_server_credentials_create_with_options(
            grpc_ssl_server_credentials_create_options_using_config_fetcher(
                asks_for_certificate
                    ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                    : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE,
                &ReloadingCredentials::Fetch, this))) {}

  ~ReloadingCredentials() override {
    grpc_server_credentials_release(credentials_);
  }

  void SetAuthMetadataProcessor(
      const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {}

 private:
  // gRPC asks before each handshake, one at a time, and keeps what it has where
  // there is nothing new.
  static grpc_ssl_certificate_config_reload_status Fetch(
      void* self, grpc_ssl_server_certificate_config** config) {
    auto* const credentials = static_cast<ReloadingCredentials*>(self);
    TlsMaterial material;
    if (!credentials->source_->Get(&credentials->generation_, &material)) {
      return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    }
    const grpc_ssl_pem_key_cert_pair pair = {
        material.key.c_str(), material.certificate_chain.c_str()};
    // gRPC 1.51 insists on roots, also where it asks clients for nothing.
    const std::string& roots = material.client_ca.empty()
                                   ? material.certificate_chain
                                   : material.client_ca;
    *config =
        grpc_ssl_server_certificate_config_create(roots.c_str(), &pair, 1);
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

  int AddPortToServer(const std::string& address,
                      grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), credentials_);
  }

  const TlsSource* const source_;
  uint64_t generation_ = 0;  // Of what gRPC has.
  grpc_server_credentials* const credentials_;
};

}  // namespace

std::shared_ptr<grpc::ServerCredentials> MakeTlsCredentials(
    const TlsSource* source, bool asks_for_certificate) {
  return std::make_shared<ReloadingCredentials>(source, asks_for_certificate);
}

}  // namespace sortition
