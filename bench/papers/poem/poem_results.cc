#include "bench/papers/poem/poem_results.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/support/statistics.h"

namespace sortition {
namespace {

// Indexes into Results.methods; each POEM follows its IPS.
constexpr size_t kIpsBatch = 0;
constexpr size_t kIpsStochastic = 2;

// Tables 3 (expected loss), 4 (seconds) and 5 (MAP) of the paper.
struct Published {
  std::map<std::string, double> expected;
  std::map<std::string, double> seconds;
  std::map<std::string, double> map;
};

const Published* PublishedFor(const std::string& name) {
  static const auto& all = *new std::map<std::string, Published>{
      {"scene",
       {{{"h0", 1.543},
         {"IPS(B)", 1.193},
         {"POEM(B)", 1.168},
         {"IPS(S)", 1.519},
         {"POEM(S)", 1.143}},
        {{"IPS(B)", 2.58},
         {"POEM(B)", 75.20},
         {"IPS(S)", 1.65},
         {"POEM(S)", 4.71}},
        {{"POEM(S)", 1.143}}}},
      {"yeast",
       {{{"h0", 5.547},
         {"IPS(B)", 4.635},
         {"POEM(B)", 4.480},
         {"IPS(S)", 4.614},
         {"POEM(S)", 4.517}},
        {{"IPS(B)", 47.61},
         {"POEM(B)", 94.16},
         {"IPS(S)", 2.86},
         {"POEM(S)", 5.02}},
        {{"POEM(S)", 4.065}}}},
      {"tmc",
       {{{"h0", 3.445},
         {"IPS(B)", 2.808},
         {"POEM(B)", 2.197},
         {"IPS(S)", 3.023},
         {"POEM(S)", 2.522}},
        {{"IPS(B)", 136.34},
         {"POEM(B)", 949.95},
         {"IPS(S)", 49.12},
         {"POEM(S)", 276.13}},
        {{"POEM(S)", 2.299}}}},
      {"lyrl",
       {{{"h0", 1.463},
         {"IPS(B)", 0.921},
         {"POEM(B)", 0.918},
         {"IPS(S)", 1.118},
         {"POEM(S)", 0.996}},
        {{"IPS(B)", 21.01},
         {"POEM(B)", 561.12},
         {"IPS(S)", 13.66},
         {"POEM(S)", 120.09}},
        {{"POEM(S)", 0.880}}}},
  };
  const auto found = all.find(name);
  return found == all.end() ? nullptr : &found->second;
}

std::string Cell(const std::map<std::string, double>& values,
                 const std::string& name) {
  const auto found = values.find(name);
  return found == values.end() ? "-" : absl::StrFormat("%.3f", found->second);
}

PairedTest PoemAgainstIps(const Results& results, size_t ips,
                          size_t criterion) {
  return TestPairs(results.methods[ips].by_criterion[criterion].expected,
                   results.methods[ips + 1].by_criterion[criterion].expected);
}

}  // namespace

std::string FormatTable(const std::string& data,
                        std::span<const Method> methods,
                        const Results& results) {
  static const Published& none = *new Published;
  const Published* published = PublishedFor(data);
  if (published == nullptr) published = &none;
  std::string text = absl::StrFormat(
      "%s, %d runs; expected and MAP Hamming loss on the test set, by what "
      "validates\n%-10s | %17s | %17s | %17s | %17s | %17s\n%-10s",
      data, results.logging.expected.size(), "", "bounded", "self-normalised",
      "eq. 1", "paper", "seconds a fit", "");
  for (size_t k = 0; k <= kNumCriteria; ++k) {
    absl::StrAppendFormat(&text, " | %8s %8s", "expected", "MAP");
  }
  absl::StrAppendFormat(&text, " | %8s %8s\n%-10s | %8.3f %8.3f", "here",
                        "paper", "h0", Mean(results.logging.expected),
                        Mean(results.logging.map));
  for (size_t k = 1; k < kNumCriteria; ++k) {
    absl::StrAppendFormat(&text, " | %17s", "");
  }
  absl::StrAppendFormat(&text, " | %8s %8s |\n",
                        Cell(published->expected, "h0"), "-");
  for (size_t m = 0; m < methods.size(); ++m) {
    const std::string& name = methods[m].name;
    const MethodLosses& losses = results.methods[m];
    absl::StrAppendFormat(&text, "%-10s", name);
    for (const Losses& chosen : losses.by_criterion) {
      absl::StrAppendFormat(&text, " | %8.3f %8.3f", Mean(chosen.expected),
                            Mean(chosen.map));
    }
    absl::StrAppendFormat(&text, " | %8s %8s | %8.3f %8s\n",
                          Cell(published->expected, name),
                          Cell(published->map, name), Mean(losses.seconds),
                          Cell(published->seconds, name));
  }
  return text;
}

std::string FormatPairedTests(const Results& results) {
  constexpr std::array<const char*, kNumCriteria> kNames = {
      "bounded", "self-normalised", "eq. 1"};
  std::string text;
  for (size_t k = 0; k < kNumCriteria; ++k) {
    for (const size_t ips : {kIpsBatch, kIpsStochastic}) {
      const PairedTest test = PoemAgainstIps(results, ips, k);
      absl::StrAppendFormat(
          &text, "IPS - POEM (%s), %s: t %.2f, one-tailed p %.2g\n",
          ips == kIpsBatch ? "B" : "S", kNames[k], test.t, test.p);
    }
  }
  return text;
}

std::vector<Target> ReplicationTargets(const std::string& data,
                                       const Results& results) {
  const Published* published = PublishedFor(data);
  if (published == nullptr) return {};
  const double h0 = published->expected.at("h0");
  std::vector<Target> targets = {
      {"h0, relative distance from the paper's loss",
       std::abs(Mean(results.logging.expected) - h0) / h0, 0.02}};
  double best_poem = std::numeric_limits<double>::infinity();
  for (const size_t ips : {kIpsBatch, kIpsStochastic}) {
    const std::string name = ips == kIpsBatch ? "POEM(B)" : "POEM(S)";
    const Losses& poem = results.methods[ips + 1].by_criterion[kBounded];
    targets.push_back({absl::StrCat(name, ", expected loss"),
                       Mean(poem.expected), published->expected.at(name)});
    targets.push_back({absl::StrCat(name, " better than IPS, p"),
                       PoemAgainstIps(results, ips, kBounded).p, 0.05});
    if (const auto map = published->map.find(name);
        map != published->map.end()) {
      targets.push_back(
          {absl::StrCat(name, ", MAP loss"), Mean(poem.map), map->second});
    }
    best_poem = std::min(best_poem, Mean(poem.expected));
  }
  double best_newer = std::numeric_limits<double>::infinity();
  for (size_t m = kIpsStochastic + 2; m < results.methods.size(); ++m) {
    best_newer = std::min(
        best_newer, Mean(results.methods[m].by_criterion[kBounded].expected));
  }
  targets.push_back(
      {"best newer objective, expected loss", best_newer, best_poem});
  return targets;
}

}  // namespace sortition
