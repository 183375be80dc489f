#include "bench/papers/poem/objective_choice.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/support/statistics.h"
#include "core/counterfactual/moments.h"

namespace sortition {
namespace {

using config::v1::PoemOptions;

// The first of ObjectivesToChooseFrom().
constexpr size_t kDefault = 0;

// Settings of sortition-trainer, as its options name them.
Method Setting(const std::string& name, PoemOptions::Objective objective,
               Optimiser optimiser) {
  Method method{.name = name, .protocol = Protocol::kBest};
  method.options.set_objective(objective);
  method.options.set_optimiser(optimiser);
  method.criterion = Criterion::kBounded;
  return method;
}

// The same with the grid of β that sortition-trainer has for sets of labels.
Method Smoothed(Method method, const std::string& name) {
  method.name = name;
  for (const double beta : {0.7, 1.0}) method.options.add_smoothing(beta);
  return method;
}

double LossOfH0(const Results& results) {
  return Mean(results.logging[static_cast<size_t>(Protocol::kBest)].expected);
}

double WayOf(const Results& results) {
  return LossOfH0(results) - Mean(results.skyline.map);
}

// By method, the mean share of a set.
std::vector<double> SharesOf(const Results& results) {
  std::vector<double> shares;
  for (const MethodLosses& method : results.methods) {
    shares.push_back((LossOfH0(results) - Mean(method.losses.expected)) /
                     WayOf(results));
  }
  return shares;
}

size_t LargestOf(std::span<const double> values) {
  return static_cast<size_t>(std::max_element(values.begin(), values.end()) -
                             values.begin());
}

// Returns that of the difference of two methods' mean shares.
double ErrorOfDifference(const Results& results, size_t a, size_t b) {
  Moments moments;
  for (size_t r = 0; r < results.methods[a].losses.expected.size(); ++r) {
    moments.Add((results.methods[b].losses.expected[r] -
                 results.methods[a].losses.expected[r]) /
                WayOf(results));
  }
  return std::sqrt(moments.variance() / static_cast<double>(moments.count()));
}

}  // namespace

std::vector<Method> ObjectivesToChooseFrom() {
  constexpr auto kStochastic = PoemOptions::STOCHASTIC;
  constexpr auto kBatch = PoemOptions::BATCH;
  const Method crm = Setting("CRM(S)", PoemOptions::CRM, kStochastic);
  std::vector<Method> methods = {
      Smoothed(crm, "default"),
      crm,
      Setting("CRM(B)", PoemOptions::CRM, kBatch),
      Smoothed(Setting("", PoemOptions::CRM, kBatch), "CRM(B), beta"),
      Setting("clipped IPS(S)", PoemOptions::CLIPPED_IPS, kStochastic),
      Setting("DR(S)", PoemOptions::DOUBLY_ROBUST, kStochastic),
      Setting("DR(B)", PoemOptions::DOUBLY_ROBUST, kBatch),
      Smoothed(Setting("", PoemOptions::DOUBLY_ROBUST, kBatch), "DR(B), beta"),
  };
  Method near_parent = Smoothed(crm, "default, near h0");
  near_parent.options.set_penalty(PoemOptions::PROXIMAL);
  methods.push_back(near_parent);
  for (Method& method : NewerMethods()) {
    if (method.name == "DR(B)") continue;
    methods.push_back(std::move(method));
  }
  for (Method& method : methods) {
    method.from_zero = true;
    method.from_parent = true;
  }
  return methods;
}

std::string FormatShares(std::span<const SetResults> sets) {
  std::string text =
      "\nShare of the way from h0 to a learner of all labels\n"
      "                  ";
  std::vector<std::vector<double>> shares;
  for (const SetResults& set : sets) {
    absl::StrAppendFormat(&text, " | %9s", set.name);
    shares.push_back(SharesOf(set.results));
  }
  text += " |    mean |   least\n";
  const auto& methods = sets[0].results.methods;
  for (size_t m = 0; m < methods.size(); ++m) {
    absl::StrAppendFormat(&text, "%-18s", methods[m].name);
    double mean = 0;
    double least = std::numeric_limits<double>::infinity();
    for (const std::vector<double>& set : shares) {
      absl::StrAppendFormat(&text, " | %9.3f", set[m]);
      mean += set[m] / static_cast<double>(shares.size());
      least = std::min(least, set[m]);
    }
    absl::StrAppendFormat(&text, " | %7.3f | %7.3f\n", mean, least);
  }
  return text;
}

std::vector<LeftOut> LeaveOneSetOut(std::span<const SetResults> sets) {
  std::vector<LeftOut> choices;
  for (const SetResults& left_out : sets) {
    const auto& methods = left_out.results.methods;
    std::vector<double> elsewhere(methods.size(), 0);
    for (const SetResults& set : sets) {
      if (&set == &left_out) continue;
      const std::vector<double> shares = SharesOf(set.results);
      for (size_t m = 0; m < shares.size(); ++m) elsewhere[m] += shares[m];
    }
    const std::vector<double> here = SharesOf(left_out.results);
    const size_t chosen = LargestOf(elsewhere);
    const size_t best = LargestOf(here);
    choices.push_back({.set = left_out.name,
                       .chosen = methods[chosen].name,
                       .best = methods[best].name,
                       .share = here[chosen],
                       .best_share = here[best],
                       .default_share = here[kDefault],
                       .standard_error = ErrorOfDifference(left_out.results,
                                                           chosen, kDefault)});
  }
  return choices;
}

std::string FormatChoices(std::span<const LeftOut> choices) {
  std::string text = "\nChosen by the other sets, and what it has on the set\n";
  for (const LeftOut& choice : choices) {
    absl::StrAppendFormat(
        &text,
        "%-10s %s %.3f, default %.3f (s.e. of the difference %.3f); best here: "
        "%s %.3f\n",
        choice.set, choice.chosen, choice.share, choice.default_share,
        choice.standard_error, choice.best, choice.best_share);
  }
  return text;
}

std::vector<Target> ChoiceTargets(std::span<const LeftOut> choices) {
  std::vector<Target> targets;
  for (const LeftOut& choice : choices) {
    targets.push_back(
        {absl::StrCat(choice.set,
                      ": share of the default above what the other sets "
                      "choose, limit one standard error below"),
         choice.default_share - choice.share, -choice.standard_error, true});
  }
  return targets;
}

}  // namespace sortition
