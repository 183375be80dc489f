#pragma once
// What /status.json of a server says (status.proto), and the threads that make
// it.
#include <functional>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "io/spool/spool_writer.h"
#include "process/metrics.h"
#include "server/models/model_registry.h"
#include "server/models/models_service.h"
#include "server/shadows/shadow_scorer.h"

namespace sortition {

// Where the figures come from. All must outlive the source, or its Stop().
struct ServerStatusParts {
  Metrics* metrics = nullptr;
  const ModelRegistry* registry = nullptr;
  const ModelsService* models = nullptr;
  const SpoolWriter* spool = nullptr;  // Null: decisions are not logged.
  std::string spool_dir = {};
  const ShadowScorer* shadows = nullptr;  // Null: nobody looks on.
  std::string sidecar = {};               // HttpOptions.sidecar.
  bool needs_token = false;               // Status.server.needs_token
  bool has_control = false;               // Status.server.has_control
  // Says why the server is not ready; empty: it is.
  std::function<std::string()> why_not_ready = {};
};

// Thread-safe. One thread takes a sample every 5 seconds, sets the metrics of
// training, and asks the sidecar every 2 seconds. Two more make the text and
// its history, but only while somebody asks; a fourth one reads the store for
// these three. All have the priority
// of the thread that creates the object: they take locks that requests take,
// and must not hold one and be kept from running.
class ServerStatusSource {
 public:
  static std::unique_ptr<ServerStatusSource> Create(ServerStatusParts parts);
  ~ServerStatusSource();  // Stop()

  // Ends the threads, and waits for all but the one that reads the store. Call
  // before a part goes; Json() must not be called afterwards.
  void Stop();

  // Returns the Status as JSON. It is made anew once a second at most, whoever
  // asks, and nobody waits for long: not for the store, and as SharedText does
  // for the text. `query` is that of the address: "history=0" leaves the
  // history out.
  std::string Json(absl::string_view query = "");

 private:
  struct Rep;
  explicit ServerStatusSource(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

}  // namespace sortition
