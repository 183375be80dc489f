#include "trainer/cluster/cluster_report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "trainer/tuples/scan/left_out_report.h"

namespace sortition {
namespace {

using config::v1::ClusterReport;

constexpr int kPrintedItems = 10;
constexpr int kPrintedSources = 50;
// A silhouette that exceeds that of chance by less than this says nothing.
constexpr double kHardlyAny = 0.1;
// Wider matrices are in the JSON report only.
constexpr int kMostColumns = 12;

bool OfSources(const ClusterReport& report) { return report.of() == "sources"; }

void AppendData(const ClusterReport& report, std::string* text) {
  absl::StrAppendFormat(text, "Model '%s': %d tuples read, %d decisions used\n",
                        report.model(), report.read_tuples(),
                        report.decisions());
  AppendLeftOut(
      {report.kept_fraction(), report.corrupt_records(), report.excluded()},
      text);
  absl::StrAppendFormat(text, "%d %s, each of %d scores%s\n", report.vectors(),
                        report.of(), report.items(),
                        OfSources(report) ? ", those of all decisions" : "");
  if (report.flat() > 0) {
    absl::StrAppendFormat(
        text, "  %d of them tell %s apart: as near to every group\n",
        report.flat(),
        report.pairs() > 0 ? "none of the pairs" : "no candidates");
  }
  if (report.pairs() > 0) {
    absl::StrAppendFormat(
        text, "  %d of the %d pairs are among the candidates of a decision\n",
        report.pairs_found(), report.pairs());
  }
  if (report.weightless_decisions() > 0) {
    absl::StrAppendFormat(text, "  %d decisions weigh nothing: %s\n",
                          report.weightless_decisions(),
                          report.pairs() > 0
                              ? "none of the pairs is among their candidates"
                              : "no more candidates than the cutoff");
  }
}

void AppendAdvice(const ClusterReport& report, std::string* text) {
  for (const ClusterReport::Trial& trial : report.trials()) {
    if (!trial.chosen() || !trial.has_silhouette()) continue;
    absl::StrAppendFormat(text,
                          "by chance: %.3f, of as many groups of the same "
                          "vectors with their scores shuffled.\n",
                          trial.silhouette_by_chance());
    if (trial.silhouette() - std::max(0.0, trial.silhouette_by_chance()) <
        kHardlyAny) {
      absl::StrAppend(text,
                      "Hardly nearer to the own group than by chance: there "
                      "may be only one.\n");
    } else if (&trial == &*report.trials().rbegin() &&
               report.trials_size() > 1 &&
               trial.clusters() + 1 < report.vectors()) {
      absl::StrAppend(text,
                      "The largest number tried is the best: try more with "
                      "--clusters.\n");
    }
  }
}

void AppendTrials(const ClusterReport& report, std::string* text) {
  absl::StrAppendFormat(text, "\n  %6s %12s %13s %10s %10s\n", "groups",
                        "objective", "of one group", "silhouette",
                        "iterations");
  for (const ClusterReport::Trial& trial : report.trials()) {
    absl::StrAppendFormat(
        text, "%c %6d %12.6g %13s %10s %10d%s\n", trial.chosen() ? '*' : ' ',
        trial.clusters(), trial.objective(),
        trial.has_share() ? absl::StrFormat("%.1f %%", 100 * trial.share())
                          : "-",
        trial.has_silhouette() ? absl::StrFormat("%.3f", trial.silhouette())
                               : "-",
        trial.iterations(), trial.converged() ? "" : ", not converged");
  }
  absl::StrAppend(text,
                  "silhouette: how much nearer vectors are to their own "
                  "group's order than to the next; 0: no nearer, 1: exactly "
                  "in that order\n");
  AppendAdvice(report, text);
}

void AppendMembers(const ClusterReport& report,
                   const ClusterReport::Group& group, std::string* text) {
  if (OfSources(report)) {
    absl::StrAppend(text, "  sources");
    const int printed = std::min(kPrintedSources, group.members_size());
    for (int i = 0; i < printed; ++i) {
      absl::StrAppend(text, " ", group.members(i).source());
    }
  } else {
    absl::StrAppend(text, "  ", report.of());
    for (const ClusterReport::Member& member : group.members()) {
      absl::StrAppend(text, " ", EscapeId(member.decision_id()));
      if (member.has_source()) absl::StrAppend(text, "/", member.source());
    }
  }
  const bool all =
      OfSources(report)
          ? group.members_size() <= kPrintedSources
          : static_cast<uint64_t>(group.members_size()) == group.size();
  absl::StrAppend(text, all ? "\n" : " ...\n");
}

// Sources are few: each has its share.
void AppendAgainstPairs(const ClusterReport& report,
                        const ClusterReport::Group& group, std::string* text) {
  absl::StrAppendFormat(
      text, "  %.1f %% against the pairs (0 %%: the worse is never above)",
      100 * group.share_against_pairs());
  const char* separator = ";";
  for (int i = 0;
       OfSources(report) && i < group.members_size() && i < kPrintedSources;
       ++i) {
    const ClusterReport::Member& member = group.members(i);
    if (!member.has_share_against_pairs()) continue;
    absl::StrAppendFormat(text, "%s %d: %.1f %%", separator, member.source(),
                          100 * member.share_against_pairs());
    separator = ",";
  }
  absl::StrAppend(text, "\n");
}

void AppendGroup(const ClusterReport& report, int number, std::string* text) {
  const ClusterReport::Group& group = report.groups(number);
  absl::StrAppendFormat(
      text,
      "\nGroup %d: %d %s; divergence from their order %.4g (%.1f %% of "
      "reversed), total variation %.3f\n",
      number, group.size(), report.of(), group.divergence(),
      100 * group.share_reversed(), group.total_variation());
  AppendMembers(report, group, text);
  if (group.has_share_against_pairs()) AppendAgainstPairs(report, group, text);
  if (group.has_mean_reward()) {
    absl::StrAppendFormat(text, "  mean reward %.4f", group.mean_reward());
    if (group.has_reward_standard_error()) {
      absl::StrAppendFormat(text, " ± %.4f (standard error)",
                            group.reward_standard_error());
    }
    absl::StrAppend(text, "\n");
  }
  if (group.order().empty()) return;
  absl::StrAppend(text, "  order");
  for (int r = 0; r < std::min(kPrintedItems, group.order_size()); ++r) {
    absl::StrAppendFormat(text, "  %s %.3f", EscapeId(group.order(r).id()),
                          group.order(r).mean());
  }
  absl::StrAppend(text, report.items() > static_cast<uint64_t>(kPrintedItems)
                            ? "  ...\n"
                            : "\n");
}

// Appends a matrix of groups by groups, as percentages. `without`: the diagonal
// compares members with the other members of their group, so a group of one has
// no entry there.
template <typename Row>
void AppendMatrix(const ClusterReport& report, bool without, const Row& row,
                  std::string* text) {
  absl::StrAppendFormat(text, "  %8s", "");
  for (int c = 0; c < report.groups_size(); ++c) {
    absl::StrAppendFormat(text, " %8d", c);
  }
  absl::StrAppend(text, "\n");
  for (int c = 0; c < report.groups_size(); ++c) {
    absl::StrAppendFormat(text, "  %8s", absl::StrCat("group ", c));
    const auto& values = row(report.groups(c));
    for (int other = 0; other < values.size(); ++other) {
      if (without && other == c && report.groups(c).size() < 2) {
        absl::StrAppendFormat(text, " %8s", "-");
      } else {
        absl::StrAppendFormat(text, " %6.1f %%", 100 * values[other]);
      }
    }
    absl::StrAppend(text, "\n");
  }
}

void AppendDistances(const ClusterReport& report, std::string* text) {
  if (report.groups_size() > kMostColumns) {
    absl::StrAppendFormat(
        text, "\nDistances between %d groups: in the JSON of --report.\n",
        report.groups_size());
    return;
  }
  absl::StrAppendFormat(text,
                        "\nDivergence of the %s of a group (line) from the "
                        "order of a group (column), from the own group's "
                        "without the member; 100 %%: every one's own order "
                        "reversed%s\n",
                        report.of(), DescribeChance(report));
  AppendMatrix(
      report, /*without=*/true, [](const auto& group) -> const auto& {
        return group.share_reversed_from();
      },
      text);
  absl::StrAppend(text,
                  "\nPairs of candidates that two groups' means have the "
                  "other way round, and half of those that either ties "
                  "(Kendall)\n");
  AppendMatrix(
      report, /*without=*/false,
      [](const auto& group) -> const auto& { return group.kendall_from(); },
      text);
}

void AppendDisputes(const ClusterReport& report, std::string* text) {
  if (report.disputes().empty()) return;
  const bool sources = OfSources(report);
  absl::StrAppend(
      text,
      sources
          ? "\nDecisions that the groups disagree about most: divergence of "
            "a group's means from another's order (mean), and by group the "
            "document_index placed first\n"
          : "\nCandidates that the groups disagree about most: the "
            "largest difference of the weights of their ranks, and by group "
            "the rank (0: the best)\n");
  for (const ClusterReport::Dispute& dispute : report.disputes()) {
    absl::StrAppendFormat(text, "  %-24s %10.4g  ", EscapeId(dispute.id()),
                          dispute.divergence());
    const auto& values = sources ? dispute.first() : dispute.rank();
    for (int c = 0; c < std::min(kMostColumns, values.size()); ++c) {
      absl::StrAppendFormat(text, " %5d", values[c]);
    }
    absl::StrAppend(text, values.size() > kMostColumns ? " ...\n" : "\n");
  }
}

}  // namespace

std::string EscapeId(absl::string_view id) {
  std::string text;
  for (const char c : id) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\\') {
      text += "\\\\";
    } else if (c == '\t') {
      text += "\\t";
    } else if (c == '\n') {
      text += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      absl::StrAppendFormat(&text, "\\x%02x", byte);
    } else {
      text += c;
    }
  }
  return text;
}

std::string DescribeChance(const ClusterReport& report) {
  return report.has_share_by_chance()
             ? absl::StrFormat("; an unrelated order: %.0f %%",
                               100 * report.share_by_chance())
             : "";
}

std::string FormatClusterReport(const ClusterReport& report) {
  std::string text;
  AppendData(report, &text);
  AppendTrials(report, &text);
  for (int c = 0; c < report.groups_size(); ++c) {
    AppendGroup(report, c, &text);
  }
  if (report.groups_size() > 1) AppendDistances(report, &text);
  AppendDisputes(report, &text);
  return text;
}

}  // namespace sortition
