#pragma once
// What a policy does with an order that was logged.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "core/base/hash.h"
#include "core/policies/marginals/plackett_luce_marginals.h"
#include "trainer/ope/policies/judged_policy.h"

namespace sortition {

// Positions here are those among the m eligible candidates, in the order of
// documents.
struct OrderView {
  // log π(a_k | ranks above), by logged rank; -infinity from the first rank on
  // that is impossible.
  std::vector<double> log_conditionals;
  // P(position i is at rank k) at [k * m + i], for as many ranks as were asked
  // for.
  std::vector<double> marginals;
  // Mean over these ranks of the standard error of the marginal of what was
  // logged there, relative to it; 0: they are exact.
  double marginal_error = 0;
};

// A logged order as it is viewed.
class LoggedOrder {
 public:
  // Requires a ranking with the propensity of each rank.
  void Read(const LoggedDecision& decision);

  size_t num_eligible() const { return num_eligible_; }  // m
  // What was ranked, by rank.
  std::span<const int32_t> positions() const { return positions_; }
  size_t position(size_t rank) const {
    return static_cast<size_t>(positions_[rank]);
  }
  // log p(a_k | ranks above), by rank, at most 0.
  std::span<const double> log_conditionals() const { return log_conditionals_; }

  // Returns the first rank of which the view of the policy that logged says
  // another probability than the log; nothing if they agree.
  std::optional<size_t> FindContradiction(const OrderView& view) const;

 private:
  size_t num_eligible_ = 0;
  std::vector<int32_t> positions_;
  std::vector<double> log_conditionals_;
  std::vector<int32_t> by_document_;  // Positions; -1: not eligible.
};

// Whether probabilities at a rank are known in closed form for all candidates
// at once: for Plackett-Luce without factors of ranks, and for uniform.
bool HasClosedForm(const OrderLaw& law);

// Writes π(i | above) of all positions, 0 for those above. Requires
// HasClosedForm() and fewer than m above.
void ConditionalsAfter(const OrderLaw& law, std::span<const int32_t> above,
                       std::span<double> probabilities);

// Keeps buffers. Not thread-safe.
class OrderViewer {
 public:
  // Marginals that are not known exactly come from so many orders.
  static constexpr uint32_t kSampledOrders = 200;

  // What is asked of a law.
  struct Question {
    std::span<const int32_t> order;  // Positions.
    GameControls game = {};
    size_t num_marginals = 0;  // Ranks, at most order.size(); 0: none.
    Hash128 key = {};          // Of the draws for marginals.
  };

  // Marginals are exact for Plackett-Luce without factors of ranks and for
  // uniform, to 1e-9; others are drawn (core/policies/marginals). Errors as
  // SampleMarginals().
  absl::Status View(const OrderLaw& law, const Question& question,
                    OrderView* view);

 private:
  void ViewConditionals(const OrderLaw& law, const Question& question,
                        OrderView* view);
  absl::Status ViewMarginals(const OrderLaw& law, const Question& question,
                             OrderView* view);

  PlackettLuceMarginals exact_{1e-9};
  std::vector<double> logits_;
};

}  // namespace sortition
