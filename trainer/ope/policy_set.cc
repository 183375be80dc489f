#include "trainer/ope/policy_set.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status_macros.h"
#include "core/policies/distribution_factory.h"
#include "io/models/newest_version.h"
#include "io/models/store_listing.h"
#include "trainer/frames/model_frame.h"

namespace sortition {
namespace {

using config::v1::OpeOptions;

absl::string_view ActionName(ActionKind kind) {
  return kind == ActionKind::kSelect ? "selections"
         : kind == ActionKind::kRank ? "rankings"
                                     : "subsets";
}

// Without a store there is no newest version.
absl::StatusOr<bool> HasNewest(const OpeOptions& options) {
  if (options.model_store().empty()) return false;
  ASSIGN_OR_RETURN(
      const uint64_t newest,
      NewestVersion(options.model(), ModelStore(options.model_store())));
  return newest > 0;
}

}  // namespace

absl::StatusOr<PolicySet> PolicySet::Load(const OpeOptions& options) {
  PolicySet set;
  ASSIGN_OR_RETURN(set.specs_, ParsePolicies(options.policies()));
  set.by_default_ = set.specs_.empty();
  if (set.by_default_) {
    ASSIGN_OR_RETURN(const bool has_newest, HasNewest(options));
    for (const char* const text : {"newest", "uniform", "constant"}) {
      ASSIGN_OR_RETURN(PolicySpec spec, ParsePolicy(text));
      if (!spec.is_stored() || has_newest) set.specs_.push_back(spec);
    }
  }
  for (size_t k = 0; k < set.specs_.size(); ++k) {
    RETURN_IF_ERROR(set.AddPolicy(set.specs_[k], options));
    if (set.specs_[k].name == options.against()) set.against_ = k;
  }
  if (!set.against_ && options.against() != kLogName) {
    return absl::InvalidArgumentError(absl::StrCat(
        "against is '", options.against(), "', must be log or one of: ",
        absl::StrJoin(set.specs_, ", ",
                      [](std::string* out, const PolicySpec& spec) {
                        out->append(spec.name);
                      })));
  }
  set.ForgetUnknown();
  return set;
}

absl::StatusOr<model::v1::Model> PolicySet::LoadVersion(
    const PolicySpec& spec, const OpeOptions& options) {
  if (options.model_store().empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "model_store is empty, must be a directory: policies has '", spec.name,
        "'"));
  }
  const ModelStore store(options.model_store());
  uint64_t version = spec.version;
  if (spec.kind == PolicySpec::Kind::kNewest) {
    ASSIGN_OR_RETURN(version, NewestVersion(options.model(), store));
    if (version == 0) {
      return NoVersionError(options.model_store(), options.model());
    }
  }
  ASSIGN_OR_RETURN(StoredModel stored, store.Load(options.model(), version));
  if (spec.kind == PolicySpec::Kind::kNewest) newest_ = stored.model;
  model::v1::Policy* const policy = stored.model.mutable_policy();
  if (spec.temperature) {
    policy->set_inverse_temperature(policy->inverse_temperature() /
                                    *spec.temperature);
  }
  if (spec.mixture) policy->set_uniform_mixture(*spec.mixture);
  return std::move(stored.model);
}

absl::Status PolicySet::TakeShape(const PolicySpec& spec,
                                  const model::v1::Model& model) {
  ASSIGN_OR_RETURN(const ModelFrame frame, FrameOf(model));
  const OpeShape shape{.action_kind = ActionKindOf(model.policy()),
                       .num_features = SentFeatures(model),
                       .features = frame.features};
  if (shaped_by_.empty()) {
    shape_ = shape;
    shaped_by_ = spec.name;
    return absl::OkStatus();
  }
  if (shape.num_features != shape_.num_features ||
      shape.action_kind != shape_.action_kind) {
    return absl::InvalidArgumentError(absl::StrCat(
        "policies has '", spec.name, "' for ", ActionName(*shape.action_kind),
        " with ", *shape.num_features, " features, must be as '", shaped_by_,
        "': ", ActionName(*shape_.action_kind), " with ",
        *shape_.num_features));
  }
  return absl::OkStatus();
}

absl::Status PolicySet::AddPolicy(const PolicySpec& spec,
                                  const OpeOptions& options) {
  std::unique_ptr<JudgedPolicy> policy;
  switch (spec.kind) {
    case PolicySpec::Kind::kNewest:
    case PolicySpec::Kind::kVersion: {
      ASSIGN_OR_RETURN(const model::v1::Model model,
                       LoadVersion(spec, options));
      RETURN_IF_ERROR(TakeShape(spec, model));
      ASSIGN_OR_RETURN(policy, MakeStoredPolicy(spec.name, model));
      break;
    }
    case PolicySpec::Kind::kUniform:
      policy = MakeUniformPolicy(spec.name);
      break;
    case PolicySpec::Kind::kConstant:
      break;  // Chosen by the first pass.
    case PolicySpec::Kind::kShadow:
      policy = MakeShadowPolicy(spec.name, spec.version);
      break;
    case PolicySpec::Kind::kFile: {
      ASSIGN_OR_RETURN(ProbabilityFile file, ProbabilityFile::Read(spec.path));
      policy = MakeFilePolicy(spec.name, std::move(file),
                              spec.temperature.value_or(1),
                              spec.mixture.value_or(0));
      break;
    }
  }
  policies_.policies.push_back(std::move(policy));
  return absl::OkStatus();
}

void PolicySet::ForgetUnknown() {
  unknown_ = 0;
  unknown_of_.assign(specs_.size(), 0);
  unknown_texts_.clear();
}

bool PolicySet::Know(const LoggedDecision& decision) const {
  for (const auto& policy : policies_.policies) {
    if (policy != nullptr && !policy->Knows(decision)) return false;
  }
  return true;
}

bool PolicySet::CanCutOrders() const {
  return std::all_of(policies_.policies.begin(), policies_.policies.end(),
                     [](const auto& policy) {
                       return policy == nullptr || policy->CanCutOrders();
                     });
}

void PolicySet::CountUnknown(const LoggedDecision& decision) {
  ++unknown_;
  bool is_named = false;
  for (size_t k = 0; k < specs_.size(); ++k) {
    const JudgedPolicy* const policy = policies_.policies[k].get();
    if (policy == nullptr || policy->Knows(decision)) continue;
    ++unknown_of_[k];
    if (!is_named) ++unknown_texts_[policy->UnknownText()];
    is_named = true;
  }
}

std::string PolicySet::ShadowText(uint64_t decisions) const {
  std::string text;
  for (size_t k = 0; k < specs_.size(); ++k) {
    if (specs_[k].kind != PolicySpec::Kind::kShadow || unknown_of_[k] == 0) {
      continue;
    }
    absl::StrAppend(&text, specs_[k].name, " looked on at ",
                    decisions - unknown_of_[k], " of ", decisions,
                    " decisions. ");
  }
  if (text.empty()) return text;
  return absl::StrCat(text,
                      "All policies are judged by what all of them know. A "
                      "hash of the id chooses what a shadow looks on at, so "
                      "that these are a fair sample.");
}

absl::Status PolicySet::CheckKnown(uint64_t decisions) const {
  constexpr double kMostUnknown = 0.01;
  for (size_t k = 0; k < specs_.size(); ++k) {
    if (specs_[k].kind == PolicySpec::Kind::kShadow) continue;
    if (static_cast<double>(unknown_of_[k]) <=
        kMostUnknown * static_cast<double>(decisions)) {
      continue;
    }
    return absl::FailedPreconditionError(absl::StrCat(
        specs_[k].path, ": ", unknown_of_[k], " of ", decisions,
        " decisions have no line, must be at most 1 %: what is left might not "
        "be a fair sample of the log"));
  }
  return absl::OkStatus();
}

absl::Status PolicySet::Finish(ActionKind action_kind,
                               const LogSummary& summary) {
  for (size_t k = specs_.size(); k-- > 0;) {
    if (specs_[k].kind != PolicySpec::Kind::kConstant) continue;
    if (action_kind == ActionKind::kSelect) {
      // Each half is judged by what was best in the other.
      policies_.policies[k] = MakeConstantPolicy(
          specs_[k].name, summary.BestDocument(1), summary.BestDocument(0),
          specs_[k].mixture.value_or(0));
    } else if (by_default_ && against_ != k) {
      policies_.policies.erase(policies_.policies.begin() +
                               static_cast<std::ptrdiff_t>(k));
      unknown_of_.erase(unknown_of_.begin() + static_cast<std::ptrdiff_t>(k));
      specs_.erase(specs_.begin() + static_cast<std::ptrdiff_t>(k));
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("policies has 'constant', but the log has ",
                       ActionName(action_kind), ", must have selections"));
    }
  }
  policies_.num_reported = policies_.policies.size();
  if (!newest_) return absl::OkStatus();
  newest_->mutable_policy()->set_uniform_mixture(0);
  ASSIGN_OR_RETURN(auto unmixed, MakeStoredPolicy("unmixed", *newest_));
  policies_.policies.push_back(std::move(unmixed));
  policies_.policies.push_back(MakeUniformPolicy("uniform"));
  return absl::OkStatus();
}

}  // namespace sortition
