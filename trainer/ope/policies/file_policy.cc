// A policy that a file describes.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/policies/distribution_factory.h"
#include "trainer/ope/policies/judged_policy.h"

namespace sortition {
namespace {

class FilePolicy : public JudgedPolicy {
 public:
  FilePolicy(std::string name, std::string description, ProbabilityFile file,
             double temperature, double mixture)
      : JudgedPolicy(std::move(name), std::move(description)),
        file_(std::move(file)),
        temperature_(temperature),
        mixture_(mixture) {}

  bool Knows(const LoggedDecision& decision) const override {
    return file_.Find(decision.decision->decision_id()).has_value();
  }

  bool CanCutOrders() const override { return !file_.has_log_probabilities(); }

  absl::Status View(const LoggedDecision& decision, bool wants_first,
                    PolicyView* view) override {
    const auto entry = file_.Find(decision.decision->decision_id());
    view->first.clear();
    view->abstain = 0;
    if (entry->kind == ProbabilityFile::Kind::kLogProbability) {
      if (temperature_ != 1 || mixture_ != 0) {
        return file_.Wrong(*entry,
                           "log_probability is of one action only: "
                           "@temperature and @mixture need probabilities or "
                           "scores of all candidates");
      }
      view->log_probability = entry->values[0];
      return absl::OkStatus();
    }
    if (decision.action_kind != ActionKind::kSelect) {
      return ViewOrder(decision, *entry, wants_first, view);
    }
    RETURN_IF_ERROR(entry->kind == ProbabilityFile::Kind::kScores
                        ? TakeScores(decision, *entry, view)
                        : TakeProbabilities(decision, *entry, view));
    FinishSelection(decision, mixture_, view);
    return absl::OkStatus();
  }

  absl::StatusOr<std::optional<OrderLaw>> OrderLawOf(
      const LoggedDecision& decision) override {
    const auto entry = file_.Find(decision.decision->decision_id());
    if (!entry || entry->kind != ProbabilityFile::Kind::kScores) {
      return std::nullopt;
    }
    RETURN_IF_ERROR(TakeOrderScores(decision, *entry));
    return OrderLaw{&law_, orders_.get(), scores_};
  }

 private:
  using Entry = ProbabilityFile::Entry;

  absl::Status Wrong(const LoggedDecision& decision, const Entry& entry,
                     absl::string_view what) const {
    return file_.Wrong(
        entry, absl::StrCat("decision '", decision.decision->decision_id(),
                            "' ", what));
  }

  // InvalidArgument unless there are as many values as candidates, and one more
  // where abstaining is possible.
  absl::Status CheckSize(const LoggedDecision& decision, const Entry& entry,
                         absl::string_view of) const {
    const size_t n = decision.query.num_candidates();
    const bool can_abstain = decision.decision->can_abstain();
    const size_t size = entry.values.size();
    if (size == n || (can_abstain && size == n + 1)) return absl::OkStatus();
    return Wrong(
        decision, entry,
        absl::StrCat("has ", size, " ", of, ", must have ", n,
                     ", one for each candidate",
                     can_abstain ? ", or one more for abstaining" : ""));
  }

  absl::Status TakeProbabilities(const LoggedDecision& decision,
                                 const Entry& entry, PolicyView* view) const {
    const size_t n = decision.query.num_candidates();
    std::span<const double> values = entry.values;
    if (entry.kind == ProbabilityFile::Kind::kByDocument) {
      if (values.size() > n + 1) {
        return Wrong(decision, entry,
                     absl::StrCat("has document_index ", values.size() - 2,
                                  ", must be in [-1, ", n, ")"));
      }
      view->abstain = values[0];
      values = values.subspan(1);
    } else {
      RETURN_IF_ERROR(CheckSize(decision, entry, "probabilities"));
      if (values.size() == n + 1) view->abstain = values.back();
      values = values.first(n);
    }
    if (view->abstain > 0 && !decision.decision->can_abstain()) {
      return Wrong(decision, entry,
                   absl::StrCat("abstains with probability ", view->abstain,
                                ", must be 0: it could not abstain"));
    }
    view->first.assign(values.begin(), values.end());
    view->first.resize(n, 0);
    for (size_t i = 0; i < n; ++i) {
      if (view->first[i] == 0 || decision.is_eligible(i)) continue;
      return Wrong(
          decision, entry,
          absl::StrCat("gives candidate ", i, " the probability ",
                       view->first[i], ", must be 0: it is not eligible"));
    }
    if (temperature_ != 1) Temper(view);
    return absl::OkStatus();
  }

  // p^(1/T), which is a softmax of log p.
  void Temper(PolicyView* view) const {
    double largest = view->abstain;
    for (const double p : view->first) largest = std::max(largest, p);
    double sum = 0;
    const auto temper = [&](double* p) {
      *p = std::pow(*p / largest, 1 / temperature_);
      sum += *p;
    };
    for (double& p : view->first) temper(&p);
    temper(&view->abstain);
    for (double& p : view->first) p /= sum;
    view->abstain /= sum;
  }

  // A softmax over what is eligible.
  absl::Status TakeScores(const LoggedDecision& decision, const Entry& entry,
                          PolicyView* view) const {
    RETURN_IF_ERROR(CheckSize(decision, entry, "scores"));
    const size_t n = decision.query.num_candidates();
    double largest = -std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < entry.values.size(); ++i) {
      if (i == n || decision.is_eligible(i)) {
        largest = std::max(largest, entry.values[i]);
      }
    }
    double sum = 0;
    const auto weight = [&](size_t i) {
      const double value = std::exp((entry.values[i] - largest) / temperature_);
      sum += value;
      return value;
    };
    view->first.assign(n, 0);
    for (size_t i = 0; i < n; ++i) {
      if (decision.is_eligible(i)) view->first[i] = weight(i);
    }
    if (entry.values.size() == n + 1) view->abstain = weight(n);
    for (double& p : view->first) p /= sum;
    view->abstain /= sum;
    return absl::OkStatus();
  }

  // Scores of what is eligible, and the law that goes by them.
  absl::Status TakeOrderScores(const LoggedDecision& decision,
                               const Entry& entry) {
    RETURN_IF_ERROR(CheckSize(decision, entry, "scores"));
    if (orders_ == nullptr) {
      law_.mutable_plackett_luce();
      law_.set_inverse_temperature(1 / temperature_);
      law_.set_uniform_mixture(mixture_);
      ASSIGN_OR_RETURN(orders_, MakeActionDistribution(law_));
    }
    const size_t n = decision.query.num_candidates();
    scores_.clear();
    positions_.assign(n, -1);
    for (size_t i = 0; i < n; ++i) {
      if (!decision.is_eligible(i)) continue;
      positions_[i] = static_cast<int32_t>(scores_.size());
      scores_.push_back(entry.values[i]);
    }
    return absl::OkStatus();
  }

  // Orders by Plackett-Luce with these scores.
  absl::Status ViewOrder(const LoggedDecision& decision, const Entry& entry,
                         bool wants_first, PolicyView* view) {
    if (entry.kind != ProbabilityFile::Kind::kScores ||
        decision.action_kind != ActionKind::kRank) {
      return Wrong(decision, entry,
                   decision.action_kind == ActionKind::kRank
                       ? "has probabilities, must have scores or "
                         "log_probability: it is a ranking"
                       : "must have log_probability: it is a subset");
    }
    RETURN_IF_ERROR(TakeOrderScores(decision, entry));
    const size_t n = decision.query.num_candidates();
    action_.clear();
    for (const int32_t document : decision.action) {
      action_.push_back(positions_[static_cast<size_t>(document)]);
    }
    ScoredCandidates scored;
    scored.scores = scores_;
    scored.top_k = static_cast<uint32_t>(action_.size());
    view->log_probability = orders_->LogPropensity(scored, action_);
    if (!wants_first) return absl::OkStatus();
    std::vector<double> first(scores_.size());
    orders_->FirstProbabilities(scored, first);
    view->first.assign(n, 0);
    for (size_t i = 0; i < n; ++i) {
      if (positions_[i] >= 0) view->first[i] = first[size_t(positions_[i])];
    }
    return absl::OkStatus();
  }

  const ProbabilityFile file_;
  const double temperature_;
  const double mixture_;
  model::v1::Policy law_;
  std::unique_ptr<const ActionDistribution> orders_;
  std::vector<double> scores_;
  std::vector<int32_t> positions_;
  Action action_;
};

}  // namespace

std::unique_ptr<JudgedPolicy> MakeFilePolicy(std::string name,
                                             ProbabilityFile file,
                                             double temperature,
                                             double mixture) {
  std::string description = absl::StrCat("what ", file.path(), " says of ",
                                         file.num_decisions(), " decisions");
  return std::make_unique<FilePolicy>(std::move(name), std::move(description),
                                      std::move(file), temperature, mixture);
}

}  // namespace sortition
