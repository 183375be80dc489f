#pragma once
// The policies of all models: what serves, has a use, decided, or was rewarded.
#include <optional>
#include <string>
#include <vector>

#include "sortition/status/v1/status.pb.h"

namespace sortition {

struct PolicyRow {
  std::string model;
  std::string version;  // A number, or "other".
  bool serves = false;
  std::string uses = {};  // "serves", "arm 1000, label canary"; empty: none.
  // Decisions, over the last minute.
  std::optional<double> per_second = std::nullopt;
  // Of the tuples; unset: there are none.
  std::optional<status::v1::Estimate> reward = std::nullopt;
};

// Returns the rows of what a server and a sidecar say; either may be null. By
// model, in the order of the server, then by name; of a model, first what
// serves, then by version, the newest first.
std::vector<PolicyRow> PolicyRows(const status::v1::Server* server,
                                  const status::v1::Sidecar* sidecar);

}  // namespace sortition
