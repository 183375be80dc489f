#pragma once
// What of a model's versions serves: <root>/<model>/SERVING.textproto, and in
// <root>/<model>/.serving every state that it has had. Servers follow the file;
// the control plane, rollouts and people write it.
#include <cstddef>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sortition/model/v1/serving.pb.h"

namespace sortition {

// Why there is a new state, and who asked for it.
struct ChangeCause {
  std::string reason;
  std::string caller;
};

// InvalidArgument, naming field, value and range, unless servers would take the
// state up, were its versions there.
absl::Status ValidateServing(const model::v1::Serving& serving);

// Returns the versions that a state names, ascending; `protected_versions` are
// not among them.
std::vector<uint64_t> NamedVersions(const model::v1::Serving& serving);

// Returns the state of the model whose directory is `model_dir`; an empty one
// (the newest version serves) where there never was a file. DataLoss,
// InvalidArgument: the file is not a state, or was removed.
absl::StatusOr<model::v1::Serving> ReadServing(const std::string& model_dir);

// Reads the state, lets `edit` change it, validates it, and writes it by rename
// under the number of the next change; returns it. One writer changes a state
// at a time, also where several machines share the store. If `edit` or the
// validation fails, nothing changes. A state that was edited by hand joins the
// history first. A file that cannot be read is replaced, but only if `edit`
// succeeds on the newest state of the history. Makes the model's directory if
// it is missing. Aborted, Unavailable: another writer was in the way.
absl::StatusOr<model::v1::Serving> ChangeServing(
    const std::string& model_dir, const ChangeCause& cause,
    absl::FunctionRef<absl::Status(model::v1::Serving*)> edit);

// Calls `use` with the state, which nobody changes meanwhile, and returns what
// it returns. Errors as ReadServing().
absl::Status WithServing(
    const std::string& model_dir,
    absl::FunctionRef<absl::Status(const model::v1::Serving&)> use);

// So many changes are kept.
inline constexpr size_t kKeptStates = 1000;

// Returns the states that there were, ascending by change. Reads only the last
// `most`; files that are not states are left out.
absl::StatusOr<std::vector<model::v1::Serving>> ServingHistory(
    const std::string& model_dir, size_t most = kKeptStates);

}  // namespace sortition
