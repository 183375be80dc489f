// Recomputes orders that two versions made together.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/logs/choice_verify.h"
#include "client/logs/log_verify.h"
#include "core/base/status_macros.h"
#include "core/choices/traffic_split.h"

namespace sortition {
namespace {

using Found = std::optional<std::string>;

// Returns what cannot be of how the decision came to be interleaved; nothing:
// all is well.
Found ChoiceDifference(const log::v1::Decision& decision) {
  const log::v1::Interleaving& logged = decision.interleaving();
  if (decision.has_arm() || decision.has_baseline()) {
    return absl::StrCat("interleaving: expected none beside ",
                        decision.has_arm() ? "arm" : "baseline");
  }
  if (logged.other_version() == 0 ||
      logged.other_version() == decision.version()) {
    return absl::StrCat(
        "interleaving.other_version: expected another version than ",
        decision.version(), ", logged ", logged.other_version());
  }
  // Units have one of so many places.
  const double parts = logged.probability() * kSplitPlaces;
  if (!(parts > 0 && parts <= kSplitPlaces &&
        std::round(parts) / kSplitPlaces == logged.probability())) {
    return absl::StrFormat(
        "interleaving.probability: expected parts of %d in (0, 1], logged "
        "%.17g",
        kSplitPlaces, logged.probability());
  }
  const uint32_t place =
      InterleavingPlace(decision.model(), logged.salt(), decision.unit_id(),
                        decision.decision_id());
  if (place < std::round(parts)) return std::nullopt;
  return absl::StrFormat(
      "interleaving.probability: expected above %g by the unit's place, logged "
      "%.17g",
      static_cast<double>(place) / kSplitPlaces, logged.probability());
}

Found CannotRecompute(const absl::Status& status) {
  return absl::StrCat("cannot be recomputed: ", status.message());
}

}  // namespace

absl::StatusOr<Found> DecisionVerifier::DrawInterleaved(
    const log::v1::Decision& decision, const Decider& decider,
    const PolicyQuery& query) {
  Found difference = ChoiceDifference(decision);
  if (difference.has_value()) return difference;
  ASSIGN_OR_RETURN(
      const LoadedModel* model,
      Load(decision.model(), decision.interleaving().other_version()));
  const Decider other = model->decider;
  model::v1::Policy policy_of_other;
  policy_of_other.ParseFromString(model->policy_bytes);
  // The decision's policy has been compared with that of its version.
  const auto interleaver =
      Interleaver::Create(decision.interleaving().method(),
                          {decider.policy.get(), &decision.policy()},
                          {other.policy.get(), &policy_of_other});
  if (!interleaver.ok()) return CannotRecompute(interleaver.status());
  if (other.policy->num_features() != decision.num_features()) {
    return CannotRecompute(absl::InvalidArgumentError(
        absl::StrCat("version ", decision.interleaving().other_version(),
                     " takes ", other.policy->num_features(),
                     " features, logged are ", decision.num_features())));
  }
  const Hash128 key = InterleavingKey(
      LoggedKey(decision, decision.version(), decider.draw_salt),
      LoggedKey(decision, decision.interleaving().other_version(),
                other.draw_salt));
  interleaver->Decide(query, key, {&workspace_, &others_}, &interleaving_,
                      &draw_);
  return Found();
}

}  // namespace sortition
