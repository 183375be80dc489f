#include "trainer/publish.h"

#include "io/models/model_store.h"
#include "io/models/serving_state.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "trainer/retention/prune.h"

namespace sortition {
namespace {

using config::v1::PublishModelOptions;
using config::v1::PublishModelReport;
using testing::HasSubstr;

class PublishTest : public testing::Test {
 protected:
  PublishTest() {
    for (const double weight : {1.0, 2.0, 3.0}) {
      model::v1::Model model = Model({weight, 0.5});
      model.mutable_provenance()->set_comment("trained");
      EXPECT_OK(store_.Publish(model, nullptr, {}));
    }
    options_.set_model_store(store_.root());
    options_.set_reason("clicks fell");
  }

  static model::v1::Model Model(const std::vector<double>& weights) {
    model::v1::Model model;
    model.set_name("default");
    model.mutable_policy()->mutable_softmax_selection();
    model.mutable_policy()->set_inverse_temperature(1);
    model.set_num_features(static_cast<uint32_t>(weights.size()));
    model.mutable_weights()->Add(weights.begin(), weights.end());
    return model;
  }

  // Expects that PublishAgain() fails so, and that nothing is published.
  void ExpectRefused(absl::StatusCode code, const std::string& words) {
    EXPECT_THAT(PublishAgain(options_), StatusIs(code, HasSubstr(words)));
    ASSERT_OK_AND_ASSIGN(const auto versions, store_.ListVersions("default"));
    EXPECT_EQ(versions, (std::vector<uint64_t>{1, 2, 3}));
  }

  TempDir dir_;
  const ModelStore store_{dir_ / "models"};
  PublishModelOptions options_;
};

TEST_F(PublishTest, AnOlderVersionBecomesTheNewestAgain) {
  options_.set_from_version(1);
  ASSERT_OK_AND_ASSIGN(const PublishModelReport report, PublishAgain(options_));
  EXPECT_EQ(report.version(), 4u);
  EXPECT_EQ(report.before(), 3u);
  EXPECT_EQ(FormatPublishReport(report),
            "Published: version 4 of model 'default', the same policy "
            "(softmax_selection, 2 features) as version 1: clicks fell\n"
            "It follows version 3; no gate compared the two.\n");
  ASSERT_OK_AND_ASSIGN(StoredModel first, store_.Load("default", 1));
  ASSERT_OK_AND_ASSIGN(StoredModel again, store_.Load("default", 4));
  EXPECT_EQ(again.model.provenance().comment(),
            "trained; published again from version 1: clicks fell");
  first.model.set_version(4);
  *first.model.mutable_provenance() = again.model.provenance();
  EXPECT_EQ(again.model.SerializeAsString(), first.model.SerializeAsString());
}

TEST_F(PublishTest, APinnedVersionGoesOnToServeAndThatIsSaid) {
  ASSERT_OK(ChangeServing(dir_ / "models/default", {"test", ""},
                          [](model::v1::Serving* serving) {
                            serving->set_pinned_version(2);
                            return absl::OkStatus();
                          }));
  options_.set_from_version(1);
  ASSERT_OK_AND_ASSIGN(const PublishModelReport report, PublishAgain(options_));
  EXPECT_EQ(report.version(), 4u);
  EXPECT_EQ(report.pinned_version(), 2u);
  EXPECT_THAT(FormatPublishReport(report),
              HasSubstr("no gate compared the two. Version 2 is pinned and "
                        "goes on to serve"));
}

TEST_F(PublishTest, AModelOfAnotherStoreTakesTheName) {
  const ModelStore staging(dir_ / "staging");
  model::v1::Model model = Model({7, 8});
  model.set_name("trial");
  ASSERT_OK(staging.Publish(model, nullptr, {}));
  for (const std::string path :
       {"staging/trial/1", "staging/trial/1/", "staging/trial/1/model.pb"}) {
    options_.set_file(dir_ / path);
    ASSERT_OK_AND_ASSIGN(const PublishModelReport report,
                         PublishAgain(options_));
    ASSERT_OK_AND_ASSIGN(const StoredModel stored,
                         store_.Load("default", report.version()));
    EXPECT_EQ(stored.model.weights(0), 7);
  }
}

TEST_F(PublishTest, ADryRunPublishesNothing) {
  options_.set_from_version(2);
  options_.set_dry_run(true);
  ASSERT_OK_AND_ASSIGN(const PublishModelReport report, PublishAgain(options_));
  EXPECT_FALSE(report.has_version());
  EXPECT_THAT(FormatPublishReport(report),
              HasSubstr("Dry run: would publish a version of model 'default'"));
  options_.set_from_version(9);
  ExpectRefused(absl::StatusCode::kNotFound, "default/9/MANIFEST.textproto");
}

TEST_F(PublishTest, WhatIsWrongIsNamed) {
  ExpectRefused(absl::StatusCode::kInvalidArgument, "exactly one of them");
  options_.set_from_version(1);
  options_.set_file(dir_ / "x");
  ExpectRefused(absl::StatusCode::kInvalidArgument, "exactly one of them");
  options_.clear_from_version();
  ExpectRefused(absl::StatusCode::kNotFound, "x");
  options_.set_file(dir_.path());
  ExpectRefused(absl::StatusCode::kInvalidArgument,
                "must be model.pb or the directory of a version");
  options_.clear_file();
  options_.set_from_version(1);
  options_.set_reason("");
  ExpectRefused(absl::StatusCode::kInvalidArgument, "reason is empty");
}

TEST_F(PublishTest, AnotherNumberOfFeaturesIsRefused) {
  const ModelStore staging(dir_ / "staging");
  ASSERT_OK(staging.Publish(Model({1, 2, 3}), nullptr, {}));
  options_.set_file(dir_ / "staging/default/1");
  ExpectRefused(absl::StatusCode::kFailedPrecondition,
                "num_features is 3, must be 2, as in version 3");
  options_.set_dry_run(true);
  ExpectRefused(absl::StatusCode::kFailedPrecondition, "num_features is 3");
}

TEST_F(PublishTest, WhatAPruneHasKeptIsPublishedAgainAndNothingElse) {
  config::v1::PruneOptions prune;
  prune.set_model_store(store_.root());
  prune.set_versions("1");
  ASSERT_OK(Prune(prune));
  options_.set_from_version(2);
  ASSERT_OK_AND_ASSIGN(const PublishModelReport report, PublishAgain(options_));
  EXPECT_EQ(report.version(), 4u);
  options_.set_from_version(1);
  EXPECT_EQ(PublishAgain(options_).status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace sortition
