#include "core/clicks/click_user.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/base/stable_math.h"

namespace sortition {
namespace {

constexpr std::array<absl::string_view, 10> kNames = {
    "ultra_pbm",        "ultra_cascade",
    "ultra_trust",      "ultra_dependent_click",
    "perfect",          "navigational",
    "informational",    "near_random",
    "oosterhuis_trust", "expected_reciprocal_rank"};

constexpr std::array kUltraExamination = {.68, .61, .48, .34, .28,
                                          .20, .11, .10, .08, .06};
// Below this rank examination no longer falls.
constexpr size_t kRanks = 100;

// By grades 0 .. 4.
using FiveGrades = std::array<double, 5>;
constexpr FiveGrades kNearRandom = {.40, .45, .50, .55, .60};

struct ReadingUser {
  absl::string_view name;
  FiveGrades clicks;
  FiveGrades stops;
};
constexpr std::array<ReadingUser, 3> kReadingUsers = {
    {{"perfect", {0, .2, .4, .8, 1}, {0, 0, 0, 0, 0}},
     {"navigational", {.05, .3, .5, .7, .95}, {.2, .3, .5, .7, .9}},
     {"informational", {.4, .6, .7, .8, .9}, {.1, .2, .3, .4, .5}}}};

// x^η with the same bits on every machine.
double Power(double x, double eta) {
  if (eta == 1) return x;
  return stable::Exp(eta * stable::Log(x));
}

template <typename Function>
std::vector<double> ByIndex(size_t size, const Function& function) {
  std::vector<double> values(size);
  for (size_t i = 0; i < size; ++i) values[i] = function(i);
  return values;
}

double Exponential(size_t grade) {
  return static_cast<double>((uint64_t{1} << grade) - 1);
}

// The value of a grade on a scale of `max_relevance`.
double Interpolate(const FiveGrades& values, size_t grade,
                   uint32_t max_relevance) {
  const double place =
      4 * static_cast<double>(grade) / static_cast<double>(max_relevance);
  const size_t below = std::min<size_t>(static_cast<size_t>(place), 3);
  const double share = place - static_cast<double>(below);
  return (1 - share) * values[below] + share * values[below + 1];
}

// Fills the model from θ, ε⁺ and ε⁻.
template <typename Trusted, typename Distrusted>
void SetTrustBias(std::vector<double> examination, const Trusted& attracted,
                  const Distrusted& unattracted, ClickModel* model) {
  model->kind = ClickModelKind::kTrustBias;
  const size_t ranks = examination.size();
  model->slopes = ByIndex(ranks, [&](size_t r) {
    return examination[r] * (attracted(r) - unattracted(r));
  });
  model->offsets =
      ByIndex(ranks, [&](size_t r) { return examination[r] * unattracted(r); });
  model->examination = std::move(examination);
}

std::vector<double> UltraExamination(double eta) {
  return ByIndex(kUltraExamination.size(),
                 [&](size_t r) { return Power(kUltraExamination[r], eta); });
}

double FallingTrust(size_t rank) { return .65 / static_cast<double>(rank + 1); }

ClickModel ModelNamed(absl::string_view name, double eta) {
  ClickModel model;
  if (name == "ultra_pbm") {
    model.examination = UltraExamination(eta);
  } else if (name == "ultra_cascade") {
    model.kind = ClickModelKind::kCascade;
  } else if (name == "ultra_dependent_click") {
    constexpr double kContinues = 0.6;
    model.kind = ClickModelKind::kDependentClick;
    model.continuations = {kContinues};
  } else if (name == "ultra_trust") {
    SetTrustBias(
        UltraExamination(eta),
        [](size_t r) { return 1 - static_cast<double>(r + 2) / 100; },
        FallingTrust, &model);
  } else if (name == "oosterhuis_trust") {
    const auto examination = [](size_t rank) {
      const auto r = static_cast<double>(rank);
      return .35 / (r + 1) + .65 / (1 + .05 * r);
    };
    SetTrustBias(
        ByIndex(kRanks, examination),
        [](size_t r) { return 1 / (1 + .005 * static_cast<double>(r)); },
        FallingTrust, &model);
  } else if (name == "near_random") {
    model.examination = ByIndex(kRanks, [&](size_t r) {
      return Power(1 / static_cast<double>(r + 1), eta);
    });
  } else {
    model.kind = ClickModelKind::kBayesianNetwork;
  }
  return model;
}

// b_g.
double BaseAttraction(absl::string_view name, size_t grade,
                      uint32_t max_relevance) {
  if (name == "oosterhuis_trust") {
    return static_cast<double>(grade) / static_cast<double>(max_relevance);
  }
  if (name == "expected_reciprocal_rank") {
    return Exponential(grade) / (Exponential(max_relevance) + 1);
  }
  if (name == "near_random") {
    return Interpolate(kNearRandom, grade, max_relevance);
  }
  for (const ReadingUser& user : kReadingUsers) {
    if (user.name == name) {
      return Interpolate(user.clicks, grade, max_relevance);
    }
  }
  return Exponential(grade) / Exponential(max_relevance);
}

std::vector<double> Satisfactions(absl::string_view name, const ClickUser& user,
                                  uint32_t max_relevance) {
  for (const ReadingUser& reading : kReadingUsers) {
    if (reading.name != name) continue;
    return ByIndex(user.attractions.size(), [&](size_t g) {
      return Interpolate(reading.stops, g, max_relevance);
    });
  }
  if (name != "expected_reciprocal_rank") return {};
  return ByIndex(user.attractions.size(), [&](size_t g) {
    const double attraction = user.attractions[g];
    return attraction > 0 ? BaseAttraction(name, g, max_relevance) / attraction
                          : 1;
  });
}

}  // namespace

std::span<const absl::string_view> ClickUserNames() { return kNames; }

absl::StatusOr<ClickUser> MakeClickUser(absl::string_view name,
                                        const ClickUserOptions& options) {
  if (std::find(kNames.begin(), kNames.end(), name) == kNames.end()) {
    std::string names;
    for (const absl::string_view known : kNames) {
      absl::StrAppend(&names, names.empty() ? "" : ", ", known);
    }
    return absl::InvalidArgumentError(
        absl::StrCat("user is \"", name, "\", must be one of ", names));
  }
  if (options.max_relevance < 1 || options.max_relevance > 31) {
    return absl::InvalidArgumentError(absl::StrCat(
        "max_relevance is ", options.max_relevance, ", must be in [1, 31]"));
  }
  if (!(options.eta >= 0 && options.eta <= 10)) {
    return absl::InvalidArgumentError(
        absl::StrCat("eta is ", options.eta, ", must be in [0, 10]"));
  }
  const bool is_ultra = name.substr(0, 6) == "ultra_";
  const double noise = options.noise.value_or(is_ultra ? 0.1 : 0.0);
  if (!(noise >= 0 && noise <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("noise is ", noise, ", must be in [0, 1]"));
  }
  ClickUser user;
  user.model = ModelNamed(name, options.eta);
  user.attractions = ByIndex(options.max_relevance + 1, [&](size_t g) {
    return noise + (1 - noise) * BaseAttraction(name, g, options.max_relevance);
  });
  user.satisfactions = Satisfactions(name, user, options.max_relevance);
  return user;
}

GradedList::GradedList(const ClickUser& user,
                       std::span<const uint32_t> grades) {
  const auto at = [](const std::vector<double>& values, uint32_t grade) {
    return values[std::min<size_t>(grade, values.size() - 1)];
  };
  for (const uint32_t grade : grades) {
    attractions_.push_back(at(user.attractions, grade));
    if (user.satisfactions.empty()) continue;
    satisfactions_.push_back(at(user.satisfactions, grade));
  }
}

std::vector<uint8_t> ClicksOf(const ClickUser& user,
                              std::span<const uint32_t> grades, uint64_t seed,
                              absl::string_view decision_id) {
  const GradedList graded(user, grades);
  std::vector<uint8_t> clicks(grades.size());
  SimulateClicks(
      user.model, graded.list(),
      CounterRandom(StableHash(HashDomain::kSimulation,
                               {"clicks", absl::StrCat(seed), decision_id})),
      clicks);
  return clicks;
}

}  // namespace sortition
