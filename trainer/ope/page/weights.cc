#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "process/drawing/xml_text.h"
#include "trainer/ope/page/figures.h"
#include "trainer/ope/page/html.h"
#include "trainer/ope/page/numbers.h"
#include "trainer/ope/page/sections.h"

namespace sortition {
namespace {

using config::v1::OpePolicy;
using model::v1::Overlap;

// Removes the bins without decisions at both ends, but leaves one bin.
void RemoveEmptyEnds(Histogram* histogram) {
  std::vector<double>& edges = histogram->log10_edges;
  const size_t bins = edges.size() - 1;
  for (Histogram::Series& series : histogram->series) {
    series.heights.resize(bins);
  }
  const std::vector<double> decisions = histogram->series[0].heights;
  size_t first = 0;
  while (first + 1 < bins && decisions[first] == 0) ++first;
  size_t end = bins;
  while (end > first + 1 && decisions[end - 1] == 0) --end;
  edges = {edges.begin() + static_cast<ptrdiff_t>(first),
           edges.begin() + static_cast<ptrdiff_t>(end) + 1};
  for (Histogram::Series& series : histogram->series) {
    series.heights = {series.heights.begin() + static_cast<ptrdiff_t>(first),
                      series.heights.begin() + static_cast<ptrdiff_t>(end)};
  }
}

uint64_t CountOf(const config::v1::OpeWeightHistogram& weights) {
  return std::accumulate(weights.decisions().begin(), weights.decisions().end(),
                         weights.zero());
}

std::string Chart(const OpePolicy& policy) {
  const auto& weights = policy.weights();
  const auto all = static_cast<double>(CountOf(weights));
  const auto& edges = weights.log10_edges();
  if (weights.log10_edges_size() < 2 || all == 0 ||
      !std::all_of(edges.begin(), edges.end(),
                   [](double edge) { return std::isfinite(edge); })) {
    return "";
  }
  Histogram histogram = {
      .title = absl::StrCat(Shorten(policy.name(), 24),
                            ": weights of the decisions"),
      .x_name = "weight: how much more often it would choose so than the log",
      .y_name = "share, %",
      .log10_edges = {edges.begin(), edges.end()},
      .series = {{"share of the decisions", {}}, {"share of the weight", {}}}};
  for (const uint64_t count : weights.decisions()) {
    histogram.series[0].heights.push_back(100 * static_cast<double>(count) /
                                          all);
  }
  for (const double share : weights.weight()) {
    histogram.series[1].heights.push_back(100 * share);
  }
  RemoveEmptyEnds(&histogram);
  return Figure(
      histogram,
      absl::StrCat(
          "An estimate is as good as the decisions that carry its weight are "
          "many. ",
          weights.zero() > 0
              ? absl::StrCat(
                    FormatCountOf(weights.zero(), "decision"), " (",
                    FormatShare(static_cast<double>(weights.zero()) / all),
                    ") have weight 0 and no bar: the policy cannot "
                    "choose what the log has.")
              : "No decision has weight 0."));
}

std::vector<std::string> Sentences(const OpePolicy& policy) {
  const Overlap& overlap = policy.overlap();
  const auto tuples = static_cast<double>(overlap.tuples());
  const uint64_t all = std::max(CountOf(policy.weights()), overlap.tuples());
  std::vector<std::string> sentences = {absl::StrFormat(
      "The effective sample size is %s of %s (%s).",
      FormatRounded(policy.effective_sample_size(), 3),
      FormatCountOf(all, "decision"),
      FormatShare(policy.effective_sample_size() / static_cast<double>(all)))};
  if (overlap.tuples() < all) {
    sentences.push_back(
        absl::StrFormat("The following is of a sample of %s.",
                        FormatCountOf(overlap.tuples(), "decision")));
  }
  const std::vector<std::string> of_sample = {
      absl::StrFormat(
          "Half of the weight lies on %s (%s); no decision has more than %s of "
          "it.",
          FormatCountOf(overlap.half_weight_tuples(), "decision"),
          FormatShare(static_cast<double>(overlap.half_weight_tuples()) /
                      tuples),
          FormatShare(overlap.largest_share())),
      absl::StrFormat(
          "The mean weight is %s with a standard error of %s; where the log "
          "could choose all that the policy chooses, 1 is expected.",
          FormatRounded(overlap.mean_weight(), 4),
          FormatRounded(overlap.mean_weight_error(), 2)),
      absl::StrFormat(
          "Half of the weights are at most %s, 99 %% at most %s; the largest "
          "is %s.",
          FormatRounded(overlap.median_weight(), 3),
          FormatRounded(overlap.weight_p99(), 3),
          FormatRounded(overlap.largest_weight(), 3)),
      absl::StrFormat("The smallest propensity of the log is %s.",
                      FormatRounded(overlap.smallest_propensity(), 3))};
  sentences.insert(sentences.end(), of_sample.begin(), of_sample.end());
  if (overlap.clip() > 0) {
    sentences.push_back(absl::StrFormat(
        "Clipping at %s changes %s of the decisions and takes %s of the "
        "weight away.",
        FormatRounded(overlap.clip(), 3),
        FormatShare(overlap.clipped_fraction()),
        FormatShare(overlap.clipped_mass())));
  }
  const auto add_share = [&](double share, const char* words) {
    if (share > 0) {
      sentences.push_back(absl::StrCat(FormatShare(share), words));
    }
  };
  add_share(overlap.deterministic_fraction(),
            " of the decisions had no choice: their propensity is 1.");
  add_share(overlap.shown_otherwise_fraction(),
            " showed something else than the action, and have weight 0.");
  add_share(overlap.without_full_support_fraction(),
            " were logged by policies that never choose some actions.");
  return sentences;
}

}  // namespace

std::string Weights(const OpePolicy& policy) {
  std::string list;
  if (policy.has_overlap() && policy.overlap().tuples() > 0) {
    std::vector<std::string> items = Sentences(policy);
    for (std::string& item : items) item = EscapeXml(item);
    list = List(items);
  }
  const std::string html = Figures({Chart(policy), list});
  if (html.empty()) return "";
  return absl::StrCat(Element("h3", "How much of the log speaks for it"), "\n",
                      html);
}

}  // namespace sortition
