#include "trainer/retention/prune.h"

#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "io/files.h"
#include "io/models/model_store.h"
#include "io/models/serving_state.h"
#include "io/segments/segment_writer.h"
#include "tests/testing/refusals.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using config::v1::PruneReport;
using Versions = std::vector<uint64_t>;

class PruneTest : public testing::Test {
 protected:
  // Twelve versions.
  PruneTest() {
    for (int i = 0; i < 12; ++i) Publish();
    options_.set_model_store(store_.root());
    options_.set_model("ads");
    options_.set_keep(2);
  }

  void Publish() {
    model::v1::Model model;
    model.set_name("ads");
    model.mutable_policy()->mutable_softmax_selection();
    model.mutable_policy()->set_inverse_temperature(1);
    model.set_num_features(1);
    model.add_weights(1);
    ASSERT_OK(store_.Publish(model, nullptr, {}));
  }
  void Serve(const std::function<void(model::v1::Serving*)>& edit) {
    ASSERT_OK(ChangeServing(dir_ / "models/ads", {"test", ""},
                            [&](model::v1::Serving* serving) {
                              edit(serving);
                              return absl::OkStatus();
                            }));
  }
  void SetAge(uint64_t version, std::chrono::hours age) {
    std::filesystem::last_write_time(
        dir_ / absl::StrCat("models/ads/", version, "/MANIFEST.textproto"),
        std::filesystem::file_time_type::clock::now() - age);
  }
  Versions Stored() {
    const auto versions = store_.ListVersions("ads");
    EXPECT_OK(versions);
    return versions.value_or(Versions());
  }
  // Prunes, and returns the reasons by version that stays.
  std::map<uint64_t, std::string> Kept() {
    const auto report = Prune(options_);
    EXPECT_OK(report);
    std::map<uint64_t, std::string> kept;
    if (!report.ok()) return kept;
    for (const auto& version : report->kept()) {
      kept[version.version()] = absl::StrJoin(version.reasons(), "; ");
    }
    EXPECT_EQ(report->kept_size() + report->removed_size(), 12);
    return kept;
  }
  void WriteLog(const std::string& name,
                const std::vector<log::v1::LogRecord>& records) {
    SegmentWriter::Options options;
    options.dir = dir_.Sub(name);
    options.name = "1700000000000000-w-0.seg";
    options.preallocate_bytes = 65536;
    options.header.set_format_version(1);
    options.header.set_kind(log::v1::SegmentHeader::SPOOL);
    ASSERT_OK_AND_ASSIGN(const auto writer, SegmentWriter::Create(options));
    for (const auto& record : records) ASSERT_OK(writer->Append(record));
    ASSERT_OK(writer->Close());
  }

  TempDir dir_;
  const ModelStore store_{dir_ / "models"};
  config::v1::PruneOptions options_;
};

TEST_F(PruneTest, TheNewestStay) {
  ASSERT_OK_AND_ASSIGN(const PruneReport report, Prune(options_));
  EXPECT_EQ(Stored(), (Versions{11, 12}));
  EXPECT_EQ(report.removed_size(), 10);
  EXPECT_GT(report.removed(0).bytes(), 0u);
  EXPECT_THAT(FormatPruneReport(report),
              HasTexts("removed 10 of 12 versions",
                       "stays: serves, the newest that loads, one of "
                       "the newest 2",
                       "Nothing is known of logs"));
  Publish();
  EXPECT_EQ(Stored(), (Versions{11, 12, 13}));
}

TEST_F(PruneTest, ADryRunRemovesNothing) {
  options_.set_dry_run(true);
  ASSERT_OK_AND_ASSIGN(const PruneReport report, Prune(options_));
  EXPECT_EQ(report.removed_size(), 10);
  EXPECT_EQ(Stored().size(), 12u);
  EXPECT_THAT(FormatPruneReport(report), HasSubstr("would remove 10 of 12"));
}

TEST_F(PruneTest, WhatServesOrIsNamedStays) {
  Serve([](model::v1::Serving* serving) {
    serving->set_pinned_version(3);
    auto* label = serving->add_labels();
    label->set_name("stable");
    label->set_version(4);
    auto* arm = serving->mutable_split()->add_arms();
    arm->set_version(5);
    arm->add_ranges()->set_end(500);
    auto* shadow = serving->add_shadows();
    shadow->set_version(6);
    shadow->set_every(10);
    serving->add_protected_versions(7);
  });
  EXPECT_EQ(Kept(), (std::map<uint64_t, std::string>{
                        {3, "pinned"},
                        {4, "label stable"},
                        {5, "arm of the split (500 of 10,000 places)"},
                        {6, "shadow of every 10 decisions"},
                        {7, "protected"},
                        {11, "one of the newest 2"},
                        {12, "one of the newest 2"}}));
  EXPECT_EQ(Stored(), (Versions{3, 4, 5, 6, 7, 11, 12}));
}

TEST_F(PruneTest, WhatIsInterleavedStays) {
  Serve([](model::v1::Serving* serving) {
    serving->set_pinned_version(3);
    serving->mutable_interleave()->set_version(5);
    serving->mutable_interleave()->set_method(
        model::v1::Interleave::TEAM_DRAFT);
    serving->mutable_interleave()->set_parts(250);
  });
  std::vector<log::v1::LogRecord> spool(1);
  spool[0].mutable_decision()->set_model("ads");
  spool[0].mutable_decision()->set_version(2);
  spool[0].mutable_decision()->mutable_interleaving()->set_other_version(4);
  WriteLog("spool", spool);
  options_.set_log(dir_ / "spool");
  EXPECT_EQ(Kept(), (std::map<uint64_t, std::string>{
                        {2, "needed to verify 1 records of the log"},
                        {3, "pinned"},
                        {4, "needed to verify 1 records of the log"},
                        {5, "interleaved (250 of 10,000 places)"},
                        {11, "one of the newest 2"},
                        {12, "one of the newest 2"}}));
}

// The newest that loads is not the newest: servers go on with it.
TEST_F(PruneTest, WhatServesBecauseNewerOnesDoNotLoadStays) {
  options_.set_keep(1);
  for (const char* const version : {"11", "12"}) {
    ASSERT_OK(WriteFile(
        dir_ / absl::StrCat("models/ads/", version, "/model.pb"), "no model"));
  }
  EXPECT_EQ(Kept(), (std::map<uint64_t, std::string>{
                        {10, "serves, the newest that loads"},
                        {12, "one of the newest 1"}}));
}

TEST_F(PruneTest, YoungVersionsStay) {
  using std::chrono::hours;
  SetAge(1, hours(24 * 100));
  SetAge(2, hours(24 * 91));
  SetAge(3, hours(24 * 89));
  options_.set_older_than("90d");
  const auto kept = Kept();
  EXPECT_EQ(kept.size(), 10u);
  EXPECT_EQ(kept.at(3), "younger than older_than");
  EXPECT_EQ(Stored().front(), 3u);
}

// Decisions, other arms of their split, and views of shadows, in spools and in
// tuples; other models do not count.
TEST_F(PruneTest, WhatALogNamesStays) {
  std::vector<log::v1::LogRecord> spool(3);
  spool[0].mutable_decision()->set_model("ads");
  spool[0].mutable_decision()->set_version(2);
  auto* arm = spool[0].mutable_decision()->mutable_arm();
  arm->set_primary_version(4);
  arm->mutable_split()->add_arms()->set_version(2);
  arm->mutable_split()->add_arms()->set_version(5);
  spool[1].mutable_decision()->set_model("other");
  spool[1].mutable_decision()->set_version(1);
  spool[2].mutable_shadow_view()->set_model("ads");
  spool[2].mutable_shadow_view()->set_version(6);
  WriteLog("spool", spool);
  std::vector<log::v1::LogRecord> tuples(2);
  auto* tuple = tuples[0].mutable_tuple();
  tuple->mutable_decision()->set_model("ads");
  tuple->mutable_decision()->set_version(8);
  tuple->add_shadow_views()->set_model("ads");
  tuple->mutable_shadow_views(0)->set_version(9);
  *tuples[1].mutable_tuple()->mutable_decision() = tuple->decision();
  WriteLog("tuples", tuples);
  options_.set_log(absl::StrCat(dir_ / "spool", ",", dir_ / "tuples"));
  const auto kept = Kept();
  EXPECT_EQ(Stored(), (Versions{2, 4, 5, 6, 8, 9, 11, 12}));
  EXPECT_EQ(kept.at(5), "needed to verify 1 records of the log");
  EXPECT_EQ(kept.at(8), "needed to verify 2 records of the log");
  options_.set_log(dir_ / "missing");
  EXPECT_EQ(Prune(options_).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(PruneTest, ThoseAskedForAreRemovedAndNoOthers) {
  options_.set_versions("3, 12");
  Serve([](model::v1::Serving* serving) { serving->set_pinned_version(11); });
  ASSERT_OK(Prune(options_));
  EXPECT_EQ(Stored(), (Versions{1, 2, 4, 5, 6, 7, 8, 9, 10, 11}));
  Publish();  // The number of the newest is not used again.
  EXPECT_EQ(Stored().back(), 13u);
}

TEST_F(PruneTest, WhatIsInUseIsRefusedByNameAndNothingIsRemoved) {
  options_.set_versions("1,12");
  EXPECT_THAT(Prune(options_),
              IsFailedPrecondition("versions has 12, which cannot be removed: "
                                   "serves, the newest that loads",
                                   "sortition models pin ANOTHER --model=ads",
                                   "nothing was removed"));
  EXPECT_EQ(Stored().size(), 12u);
  Serve(
      [](model::v1::Serving* serving) { serving->add_protected_versions(1); });
  options_.set_versions("1");
  EXPECT_THAT(
      Prune(options_),
      IsFailedPrecondition("protected", "sortition models unprotect 1"));
  options_.set_versions("77");
  EXPECT_THAT(Prune(options_), IsNotFound("versions has 77"));
  options_.set_versions("1;2");
  EXPECT_EQ(Prune(options_).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// Nothing says what serves: nothing may be removed.
TEST_F(PruneTest, AStateThatCannotBeReadForbidsAll) {
  ASSERT_OK(WriteFile(dir_ / "models/ads/SERVING.textproto", "pinned: x"));
  EXPECT_THAT(Prune(options_).status().message(),
              HasSubstr("SERVING.textproto"));
  EXPECT_EQ(Stored().size(), 12u);
}

TEST_F(PruneTest, AModelThatIsNotThereIsNamed) {
  options_.set_model("nobody");
  EXPECT_THAT(Prune(options_), IsNotFound("model 'nobody'"));
}

}  // namespace
}  // namespace sortition
