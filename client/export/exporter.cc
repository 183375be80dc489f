#include "client/export/exporter.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "client/export/message_json.h"

namespace sortition {
namespace {

class JsonlExporter : public Exporter {
 public:
  explicit JsonlExporter(std::string* out) : out_(out) {}

  absl::string_view Add(const log::v1::BanditTuple& tuple) override {
    AppendMessageJson(tuple, out_);
    out_->push_back('\n');
    return {};
  }

 private:
  std::string* const out_;
};

}  // namespace

std::unique_ptr<Exporter> MakeJsonlExporter(std::string* out) {
  return std::make_unique<JsonlExporter>(out);
}

double TupleView::propensity() const {
  // Rounding may put the logarithm of a certain action above 0.
  return std::min(1.0, std::exp(decision.log_propensity()));
}

bool TupleView::is_abstained() const {
  return decision.action_kind() == log::v1::SELECT &&
         decision.action(0) == kAbstain;
}

std::optional<double> TupleView::ConditionalLogPropensity(uint32_t rank) const {
  if (decision.action_kind() == log::v1::SUBSET) return std::nullopt;
  if (decision.action_size() == 1) return decision.log_propensity();
  if (decision.conditional_log_propensities().empty()) return std::nullopt;
  return decision.conditional_log_propensities(static_cast<int>(rank));
}

const log::v1::RankReward* TupleView::RewardOfRank(uint32_t rank) const {
  for (const log::v1::RankReward& reward : tuple.rank_rewards()) {
    if (reward.rank() == rank) return &reward;
  }
  return nullptr;
}

absl::string_view FindChosen(const log::v1::Decision& decision,
                             const DecisionView& query,
                             std::vector<uint32_t>* chosen) {
  constexpr absl::string_view kMalformed = "malformed action";
  const uint32_t n = query.num_candidates();
  const int size = decision.action_size();
  const bool select = decision.action_kind() == log::v1::SELECT;
  chosen->assign(n, 0);
  if (select && size == 1 && decision.action(0) == kAbstain) {
    return decision.can_abstain() ? absl::string_view() : kMalformed;
  }
  const bool may_be_empty = decision.action_kind() == log::v1::SUBSET;
  if ((select && size != 1) || (size == 0 && !may_be_empty)) return kMalformed;
  for (int rank = 0; rank < size; ++rank) {
    // Negative indexes become too large ones.
    const auto i = static_cast<uint32_t>(decision.action(rank));
    if (i >= n || (*chosen)[i] != 0 || !query.is_eligible(i)) return kMalformed;
    (*chosen)[i] = may_be_empty ? 1 : static_cast<uint32_t>(rank) + 1;
  }
  const int conditionals = decision.conditional_log_propensities_size();
  if (conditionals != 0 && conditionals != size) return kMalformed;
  return {};
}

}  // namespace sortition
