#pragma once
// Credentials of a port whose certificates change while it serves. gRPC's own
// file watcher takes up a certificate whose key does not fit, and refuses
// everybody from then on; here only what was checked is taken up.
#include <grpcpp/security/server_credentials.h>

#include <cstdint>
#include <memory>
#include <mutex>

#include "server/identity/tls_material.h"

namespace sortition {

// What new connections are given. Thread-safe.
class TlsSource {
 public:
  explicit TlsSource(TlsMaterial material) : material_(std::move(material)) {}

  void Set(TlsMaterial material) {
    const std::lock_guard lock(mutex_);
    material_ = std::move(material);
    ++generation_;
  }

  // Returns false, and stores nothing, if there is nothing new since
  // `generation`.
  bool Get(uint64_t* generation, TlsMaterial* material) const {
    const std::lock_guard lock(mutex_);
    if (*generation == generation_) return false;
    *generation = generation_;
    *material = material_;
    return true;
  }

 private:
  mutable std::mutex mutex_;
  TlsMaterial material_;
  uint64_t generation_ = 1;
};

// Returns credentials that take every new connection's certificate from
// `source`, which must outlive the server that uses them. Where
// `asks_for_certificate`, a client without one that `client_ca` has signed is
// refused.
std::shared_ptr<grpc::ServerCredentials> MakeTlsCredentials(
    const TlsSource* source, bool asks_for_certificate);

}  // namespace sortition
