#pragma once
// Simulated users whose clicks depend on graded relevance: the protocols of
// papers, by name.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/clicks/click_model.h"

namespace sortition {

struct ClickUser {
  ClickModel model;
  // By grade; grades beyond the end have the last value.
  std::vector<double> attractions;
  std::vector<double> satisfactions = {};  // Bayesian network only.
};

struct ClickUserOptions {
  uint32_t max_relevance = 4;  // g_max, in [1, 31].
  double eta = 1;              // η, bias of position, in [0, 10].
  // ν, how often an item of grade 0 attracts, in [0, 1]: attractions are
  // ν + (1 - ν) b_g. Unset: the protocol's own.
  std::optional<double> noise = std::nullopt;
};

// The users, where θ⁰ = .68 .61 .48 .34 .28 .20 .11 .10 .08 .06:
//   ultra_pbm: ULTRA's position-based user [TranYangAi21]: θ_r = (θ⁰_r)^η,
//     b_g = (2^g - 1) / (2^g_max - 1), ν = 0.1
//   ultra_cascade: the same attractions; a cascade
//   ultra_dependent_click: the same attractions; λ_r = 0.6
//   ultra_trust: the same, with ε⁺_r = 1 - (r + 2) / 100, ε⁻_r = 0.65 / (r + 1)
//   oosterhuis_trust: trust bias of [Oosterhuis23], meant for five ranks:
//     θ_r = .35 / (r + 1) + .65 / (1 + .05 r), ε⁺_r = 1 / (1 + .005 r),
//     ε⁻_r = .65 / (r + 1); b_g = g / g_max
//   perfect, navigational, informational [OosterhuisDeRijke18]: read from the
//     top and stop after a click by its grade, a Bayesian network with γ = 1
//   near_random [JagermanOosterhuisDeRijke19]: position-based, θ_r =
//     1 / (r + 1)^η, b_g from 0.4 to 0.6
//   expected_reciprocal_rank: clicks what satisfies, R_g = (2^g - 1) / 2^g_max,
//     and stops [Chapelle09]; with noise a_g = ν + (1 - ν) R_g, s_g = R_g / a_g
// Those of the fourth and fifth line were published for grades 0 .. 4; other
// scales are interpolated. η counts where it is named, and ν is 0 where it is
// not.
std::span<const absl::string_view> ClickUserNames();

// InvalidArgument if there is no such user or an option is out of its range.
absl::StatusOr<ClickUser> MakeClickUser(absl::string_view name,
                                        const ClickUserOptions& options = {});

// What this user makes of items of these grades, by rank.
class GradedList {
 public:
  GradedList(const ClickUser& user, std::span<const uint32_t> grades);
  // Views this object.
  ShownList list() const { return {attractions_, satisfactions_}; }

 private:
  std::vector<double> attractions_;
  std::vector<double> satisfactions_;
};

// Returns the clicks of this user, by rank: a function of seed and decision.
std::vector<uint8_t> ClicksOf(const ClickUser& user,
                              std::span<const uint32_t> grades, uint64_t seed,
                              absl::string_view decision_id);

}  // namespace sortition
