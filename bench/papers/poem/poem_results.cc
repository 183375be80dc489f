#include "bench/papers/poem/poem_results.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "bench/papers/poem/published.h"
#include "bench/support/statistics.h"
#include "core/counterfactual/moments.h"

namespace sortition {
namespace {

double ErrorOf(const Moments& moments) {
  return std::sqrt(moments.variance() / static_cast<double>(moments.count()));
}

Moments MomentsOf(std::span<const double> values) {
  Moments moments;
  for (const double value : values) moments.Add(value);
  return moments;
}

Moments Differences(std::span<const double> a, std::span<const double> b) {
  Moments moments;
  for (size_t i = 0; i < a.size(); ++i) moments.Add(a[i] - b[i]);
  return moments;
}

// Returns the row of IPS that a row of POEM is compared with. Without a
// variance penalty the two updates are the same.
std::string IpsRowOf(const std::string& poem) {
  return "IPS" + absl::StrReplaceAll(poem.substr(4), {{" sec. 5.3", ""}});
}

const MethodLosses* Find(const Results& results, const std::string& name,
                         Protocol protocol) {
  for (const MethodLosses& method : results.methods) {
    if (method.name == name && method.protocol == protocol) return &method;
  }
  return nullptr;
}

// "paper | text | authors | best" of one row.
std::string Row(
    const std::string& name, const double* published,
    const std::array<const std::vector<double>*, kNumProtocols>& by_protocol) {
  std::string line = absl::StrFormat(
      "%-18s | %8s", name,
      published == nullptr ? "-" : absl::StrFormat("%.3f", *published));
  for (const std::vector<double>* values : by_protocol) {
    absl::StrAppendFormat(
        &line, " | %15s",
        values == nullptr || values->empty() ? "-" : MeanAndError(*values));
  }
  return line + "\n";
}

const double* In(const std::map<std::string, double>& values,
                 const std::string& name) {
  const auto found = values.find(name);
  return found == values.end() ? nullptr : &found->second;
}

// Whether POEM is better than IPS at the level of the paper.
Target BetterThanIps(const Results& results, const MethodLosses& poem) {
  const std::string ips_row = IpsRowOf(poem.name);
  const MethodLosses* ips = Find(results, ips_row, poem.protocol);
  return {absl::StrCat(poem.name, " better than ", ips_row, ", ",
                       ProtocolName(poem.protocol), ", p"),
          ips == nullptr
              ? std::nan("")
              : TestPairs(ips->losses.expected, poem.losses.expected).p,
          0.05};
}

Target NotWorse(const std::string& what, std::span<const double> losses,
                double published) {
  constexpr double kPublishedRuns = 10;
  const Moments moments = MomentsOf(losses);
  const double error = std::hypot(
      ErrorOf(moments), std::sqrt(moments.variance() / kPublishedRuns));
  return {what + ", standard errors of the difference above the paper",
          (moments.mean() - published) / error, 1};
}

}  // namespace

std::string MeanAndError(std::span<const double> values) {
  const Moments moments = MomentsOf(values);
  if (moments.count() < 2) return absl::StrFormat("%.3f", moments.mean());
  return absl::StrFormat("%.3f ± %.3f", moments.mean(), ErrorOf(moments));
}

std::string FormatTable(const std::string& data, const Results& results) {
  const Published& published = PublishedFor(data);
  std::vector<const MethodLosses*> rows;  // The first of each name.
  for (const MethodLosses& method : results.methods) {
    if (std::none_of(rows.begin(), rows.end(), [&](const MethodLosses* row) {
          return row->name == method.name;
        })) {
      rows.push_back(&method);
    }
  }
  std::string text;
  for (const bool map : {false, true}) {
    const auto losses = [map](const Losses& both) {
      return map ? &both.map : &both.expected;
    };
    const auto& figures = map ? published.map : published.expected;
    absl::StrAppendFormat(&text,
                          "\n%s, %d runs: %s Hamming loss on the test set\n"
                          "%-18s | %8s | %15s | %15s | %15s\n",
                          data, results.runs, map ? "MAP" : "expected", "",
                          "paper", "text", "authors", "best");
    text += Row("h0", In(figures, "h0"),
                {losses(results.logging[0]), losses(results.logging[1]),
                 losses(results.logging[2])});
    for (const MethodLosses* first : rows) {
      std::array<const std::vector<double>*, kNumProtocols> row = {};
      for (size_t k = 0; k < kNumProtocols; ++k) {
        const auto* method =
            Find(results, first->name, static_cast<Protocol>(k));
        if (method != nullptr) row[k] = losses(method->losses);
      }
      text += Row(first->name, In(figures, first->published), row);
    }
    // The paper does not say that the loss of CRF in table 3 is that of its MAP
    // predictions; only these come near it.
    const double* crf = map ? In(published.expected, "CRF") : nullptr;
    text += Row("CRF", crf, {losses(results.skyline), nullptr, nullptr});
  }
  absl::StrAppendFormat(
      &text, "\n%-18s | %8s | %7s | %7s | %15s | expected loss by run\n", "",
      "", "weight", "lowest", "seconds a fit");
  for (const MethodLosses& method : results.methods) {
    const double* seconds = In(published.seconds, method.published);
    absl::StrAppendFormat(
        &text, "%-18s | %8s | %7.3f | %7.3f | %7.3f %7s |", method.name,
        ProtocolName(method.protocol), Mean(method.mean_weights),
        Mean(method.lowest), Mean(method.seconds),
        seconds == nullptr ? "" : absl::StrFormat("(%.2f)", *seconds));
    for (const double loss : method.losses.expected) {
      absl::StrAppendFormat(&text, " %.2f", loss);
    }
    text += "\n";
  }
  return text;
}

std::string FormatPairedTests(const Results& results) {
  std::string text = "\n";
  for (const MethodLosses& poem : results.methods) {
    if (!absl::StartsWith(poem.name, "POEM")) continue;
    const MethodLosses* ips = Find(results, IpsRowOf(poem.name), poem.protocol);
    if (ips == nullptr) continue;
    const Moments difference =
        Differences(ips->losses.expected, poem.losses.expected);
    const PairedTest test =
        TestPairs(ips->losses.expected, poem.losses.expected);
    absl::StrAppendFormat(
        &text, "%s - %s, %s: %.3f ± %.3f, t %.2f, one-tailed p %.2g\n",
        ips->name, poem.name, ProtocolName(poem.protocol), difference.mean(),
        ErrorOf(difference), test.t, test.p);
  }
  return text;
}

std::vector<Target> ReplicationTargets(const std::string& data,
                                       const Results& results) {
  const Published& published = PublishedFor(data);
  std::vector<Target> targets;
  const Losses& h0 = results.logging[static_cast<size_t>(Protocol::kAuthors)];
  if (!published.expected.empty() && !h0.expected.empty()) {
    targets.push_back(
        NotWorse("h0, authors", h0.expected, published.expected.at("h0")));
  }
  for (const MethodLosses& method : results.methods) {
    if (method.protocol != Protocol::kAuthors) continue;
    if (const double* figure = In(published.expected, method.published)) {
      targets.push_back(
          NotWorse(method.name + ", authors", method.losses.expected, *figure));
    }
    if (const double* figure = In(published.map, method.published)) {
      targets.push_back(
          NotWorse(method.name + " MAP, authors", method.losses.map, *figure));
    }
    const MethodLosses* best = Find(results, method.name, Protocol::kBest);
    if (best == nullptr) continue;
    const Moments difference =
        Differences(best->losses.expected, method.losses.expected);
    targets.push_back({method.name + ", best above authors, standard errors",
                       difference.mean() / ErrorOf(difference), 1});
  }
  if (published.expected.empty()) return targets;
  if (!results.skyline.map.empty()) {
    targets.push_back(
        NotWorse("CRF MAP", results.skyline.map, published.expected.at("CRF")));
  }
  for (const MethodLosses& method : results.methods) {
    if (method.protocol == Protocol::kText ||
        !absl::StartsWith(method.name, "POEM") ||
        absl::EndsWith(method.name, " near h0")) {
      continue;
    }
    targets.push_back(BetterThanIps(results, method));
  }
  return targets;
}

}  // namespace sortition
