#pragma once
// What serves under one name at one moment: versions and their uses.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/choices/interleaving.h"
#include "server/models/served_model.h"
#include "sortition/model/v1/serving.pb.h"

namespace sortition {

// Immutable once made; shared by the requests that use it. Its versions answer
// the same calls. They have the same number of features, or read columns, of
// which no two versions declare one with different types.
struct ServingSet {
  using Model = std::shared_ptr<const ServedModel>;

  // A part of the traffic.
  struct Arm {
    const ServedModel* model = nullptr;
    double probability = 0;  // Above 0.
  };
  struct Shadow {
    Model model;
    uint32_t every = 1;
  };
  // Rankings that `primary`, the first, makes together with another version.
  struct Interleaved {
    const ServedModel* other = nullptr;
    Interleaver interleaver;
    double probability = 0;  // Share of the units; above 0.
  };

  std::string name;
  model::v1::Serving serving;  // In force; may be older than the file.
  Model primary;
  std::map<uint64_t, Model> loaded;  // By version, `primary` among them.
  // What requests must suit: one of the versions that are loaded, not the
  // uniform policy unless that is all there is.
  const ServedModel* shape = nullptr;
  // Where traffic is split: as SharesOf() in traffic_split.h. Otherwise empty.
  std::vector<Arm> arms;
  // Unset: nothing is interleaved.
  std::optional<Interleaved> interleaved;
  // Versions that look on, which play no F-score game; in mode SHADOW the
  // primary version among them.
  std::vector<Shadow> shadows;
  bool has_f_beta_game = false;  // One of the arms plays one.

  bool is_split() const { return !arms.empty(); }
  // Returns the arm of a unit or decision. Requires is_split().
  const Arm& ArmOf(absl::string_view unit_id,
                   absl::string_view decision_id) const;
  // Returns what a unit or decision gets in place of a ranking of `primary`;
  // null: nothing else.
  const Interleaved* InterleavedFor(absl::string_view unit_id,
                                    absl::string_view decision_id) const;
  // Null where it is not loaded, or there is no such label.
  const ServedModel* FindVersion(uint64_t version) const;
  const ServedModel* FindLabel(absl::string_view label) const;
  uint64_t bytes() const;  // Of all loaded versions.
  // Returns the columns that requests should have: those of all loaded
  // versions. A column has no default if requests without it are refused.
  // Empty: versions take features.
  model::v1::Schema RequestSchema() const;
};

// A version that a state names, and as what.
struct VersionUse {
  std::string name;  // "split.arms.version", "label \"canary\" of version"
  uint64_t version = 0;
};

// Returns all versions that `serving` names, each once, as it names it first.
std::vector<VersionUse> UsesOf(const model::v1::Serving& serving);

// FailedPrecondition: says which version cannot serve, as what, and why.
absl::Status CannotServe(const VersionUse& use, const absl::Status& status);

// Returns a version, loaded; the error says why it cannot serve.
using LoadVersion =
    absl::FunctionRef<absl::StatusOr<std::shared_ptr<const ServedModel>>(
        uint64_t version, const ServedModel& beside)>;

// Makes the set that `serving` asks for. `primary` serves where no version is
// pinned. FailedPrecondition: a version that it names cannot serve; the message
// says which, as what, and why.
absl::StatusOr<std::shared_ptr<const ServingSet>> MakeServingSet(
    const std::string& name, const model::v1::Serving& serving,
    const ServingSet::Model& primary, LoadVersion load);

}  // namespace sortition
