#pragma once
// Tests of `sortition-trainer cluster` on simulated logs.
#include <set>

#include "absl/strings/str_split.h"
#include "io/files.h"
#include "tests/trainer/cluster/score_lists.h"
#include "tests/trainer/synthetic_tuples.h"
#include "trainer/cluster/cluster.h"

namespace sortition {

class ClusterTuplesTest : public ::testing::Test {
 protected:
  // Writes a log of its own.
  void Use(const std::vector<log::v1::BanditTuple>& tuples) {
    const std::string dir = dir_.Sub(absl::StrCat("tuples", ++logs_));
    WriteSegment(dir, 1, tuples);
    options_.set_tuples(dir);
  }

  config::v1::ClusterReport Run() {
    absl::StatusOr<config::v1::ClusterReport> report = ClusterTuples(options_);
    EXPECT_OK(report);
    return report.ok() ? *report : config::v1::ClusterReport();
  }

  std::string Problem() {
    return std::string(ClusterTuples(options_).status().message());
  }

  static std::vector<std::set<uint32_t>> Sources(
      const config::v1::ClusterReport& report) {
    std::vector<std::set<uint32_t>> groups;
    for (const auto& group : report.groups()) {
      groups.emplace_back();
      for (const auto& member : group.members()) {
        groups.back().insert(member.source());
      }
    }
    return groups;
  }

  static std::vector<std::string> OrderOfGroup(
      const config::v1::ClusterReport::Group& group) {
    std::vector<std::string> ids;
    for (const auto& item : group.order()) ids.push_back(item.id());
    return ids;
  }

  // Returns the cells by line and column, without the headings.
  std::vector<std::vector<std::string>> Assignments() {
    options_.set_assignments(dir_.Sub("out") + "/assignments.tsv");
    Run();
    const std::string table = ReadFile(options_.assignments()).value();
    std::vector<std::vector<std::string>> lines;
    for (const auto line : absl::StrSplit(table, '\n', absl::SkipEmpty())) {
      lines.push_back(absl::StrSplit(line, '\t'));
    }
    EXPECT_EQ(lines.at(0), (std::vector<std::string>{
                               "decision_id", "source", "group", "divergence",
                               "next_group", "next_divergence"}));
    lines.erase(lines.begin());
    return lines;
  }

  TempDir dir_;
  int logs_ = 0;
  config::v1::ClusterOptions options_;
};

}  // namespace sortition
