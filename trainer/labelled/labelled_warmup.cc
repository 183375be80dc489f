#include "trainer/labelled/labelled_warmup.h"

#include <algorithm>
#include <cstdint>
#include <span>

#include "absl/strings/str_cat.h"
#include "core/data/labelled_queries.h"
#include "core/policies/distribution_factory.h"
#include "trainer/frames/model_frame.h"

namespace sortition {
namespace {

using log::v1::Decision;

constexpr size_t kMostWarmupBytes = size_t{64} << 20;

// Returns a decision without the candidates' features.
Decision EmptyDecision(const std::string& id, const model::v1::Model& model,
                       uint32_t num_candidates) {
  Decision decision;
  decision.set_decision_id(absl::StrCat("warmup-", id));
  decision.set_model(model.name());
  decision.set_num_candidates(num_candidates);
  decision.set_num_features(SentFeatures(model));
  switch (ActionKindOf(model.policy())) {
    case ActionKind::kSelect:
      decision.set_action_kind(log::v1::SELECT);
      break;
    case ActionKind::kRank:
      decision.set_action_kind(log::v1::RANK);
      decision.set_top_k(num_candidates);
      break;
    case ActionKind::kSubset:
      decision.set_action_kind(log::v1::SUBSET);
      decision.set_top_k(std::min(SubsetSize(model.policy()), num_candidates));
      break;
  }
  return decision;
}

// Returns a decision with one candidate for each class of the item.
Decision ClassesOf(const std::string& id, std::span<const float> item,
                   const model::v1::Model& model) {
  const auto d = static_cast<uint32_t>(item.size());
  const uint32_t num_classes = model.num_features() / d;
  Decision decision = EmptyDecision(id, model, num_classes);
  auto* values = decision.mutable_dense_values();
  values->Resize(static_cast<int>(num_classes * model.num_features()), 0);
  for (uint32_t l = 0; l < num_classes; ++l) {
    std::copy(item.begin(), item.end(),
              values->begin() + l * (model.num_features() + d));
  }
  return decision;
}

}  // namespace

std::vector<Decision> WarmupQueries(const LabelledData& data,
                                    const model::v1::Model& model,
                                    size_t count) {
  std::vector<Decision> warmup;
  if (model.policy().has_label_chain()) return warmup;
  const uint32_t d = data.num_inputs();
  const size_t width = data.width();
  size_t bytes = 0;
  for (const LabelledQuery& query : data.training) {
    if (warmup.size() >= count) break;
    const auto item = [&](size_t i) {
      return std::span(query.features).subspan(i * width, d);
    };
    const auto n = static_cast<uint32_t>(query.relevances.size());
    Decision decision;
    if (query.columns != nullptr) {
      decision = EmptyDecision(query.id, model, n);
      *decision.mutable_columns() = *query.columns;
    } else if (model.num_features() > d) {
      decision = ClassesOf(query.id, item(0), model);
    } else {
      decision = EmptyDecision(query.id, model, n);
      for (uint32_t i = 0; i < n; ++i) {
        decision.mutable_dense_values()->Add(item(i).begin(), item(i).end());
      }
    }
    bytes += decision.ByteSizeLong();
    if (bytes > kMostWarmupBytes) break;
    warmup.push_back(std::move(decision));
  }
  return warmup;
}

}  // namespace sortition
