// Versions that look on under load, with the real programs: nothing is delayed
// or lost, every view is of a decision that was to be looked at, is in its
// tuple, and verifies bit for bit; also when a sidecar is killed meanwhile.
#include <signal.h>

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/rpc/client.h"
#include "core/base/hash.h"
#include "gmock/gmock.h"
#include "tests/integration/deployment.h"
#include "tests/integration/load.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint32_t kShadowFeatures = 8;
// By version, every how many decisions it looks on at. Version 1 serves.
const std::map<uint64_t, uint32_t> kShadows = {{2, 2}, {3, 5}};

class ShadowTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const double scale : {0.01, 0.03, -0.02}) {
      ASSERT_OK(deployment_.store().Publish(
          SelectionModel(kShadowFeatures, scale), nullptr, {}));
    }
    ASSERT_OK(deployment_.StartServer({"--poll_seconds=0.05",
                                       "--spool.segment_bytes=262144",
                                       "--spool.segment_seconds=0.3"}));
    ASSERT_OK_AND_ASSIGN(client_, Client::Connect(deployment_.address()));
    v1::ChangeServingRequest pin = Change();
    pin.mutable_pin()->set_version(1);
    ASSERT_OK(client_->ChangeServing(pin));
  }

  static v1::ChangeServingRequest Change() {
    v1::ChangeServingRequest request;
    request.set_model("default");
    request.set_reason("test");
    return request;
  }

  void SetShadows() {
    v1::ChangeServingRequest request = Change();
    for (const auto& [version, every] : kShadows) {
      auto* shadow = request.mutable_set_shadows()->add_shadows();
      shadow->set_version(version);
      shadow->set_every(every);
    }
    ASSERT_OK(client_->ChangeServing(request));
  }

  void StartSidecar() {
    ASSERT_OK(deployment_.StartSidecar({JoinWindow(2), "--delete_spool"}));
  }

  // Ends both programs once there are so many tuples.
  void Finish(size_t tuples) {
    EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
      const auto ids = TupleIds(deployment_.tuples());
      return ids.ok() && ids->size() >= tuples;
    }));
    deployment_.server().Signal(SIGTERM);
    EXPECT_EQ(deployment_.server().Wait(kPatienceSeconds), 0);
    deployment_.sidecar().Signal(SIGTERM);
    EXPECT_EQ(deployment_.sidecar().Wait(kPatienceSeconds), 0);
  }

  std::string Run(const std::vector<std::string>& words) {
    std::vector<std::string> arguments = words;
    arguments[0] = BinaryPath(words[0]);
    const auto run = RunToEnd(arguments);
    EXPECT_OK(run);
    if (!run.ok()) return "";
    EXPECT_EQ(run->exit_code, 0) << run->stdout_text << run->stderr_text;
    return run->stdout_text;
  }

  // Whether the version is to look on at a decision: as docs/operations.md has
  // it.
  bool IsToLookOn(uint64_t version, const std::string& id) {
    std::string& salt = salts_[version];
    if (salt.empty()) {
      const auto stored = deployment_.store().Load("default", version);
      EXPECT_OK(stored);
      salt = stored->draw_salt;
    }
    const double number = UnitInterval(StableHash(
        HashDomain::kShadow, {"default", salt, id, absl::StrCat(version)}));
    return number * kShadows.at(version) < 1;
  }

  Deployment deployment_;
  std::unique_ptr<Client> client_;
  std::map<uint64_t, std::string> salts_;
};

TEST_F(ShadowTest, LooksOnUnderLoadAndChangesNothing) {
  SetShadows();
  StartSidecar();
  SelectLoad load({.address = deployment_.address(),
                   .num_features = kShadowFeatures,
                   .has_feedback = true});
  for (const uint64_t answered : {1500u, 3000u, 4500u}) {
    ASSERT_TRUE(PollUntil(kPatienceSeconds,
                          [&] { return load.num_answered() >= answered; }));
    deployment_.sidecar().Kill();
    StartSidecar();
  }
  load.Stop();
  EXPECT_THAT(load.failures(), IsEmpty());
  EXPECT_EQ(load.versions(), std::set<uint64_t>{1});
  Finish(load.answered().size());

  std::map<uint64_t, uint64_t> expected;
  for (const std::string& id : load.answered()) {
    for (const auto& [version, every] : kShadows) {
      if (IsToLookOn(version, id)) ++expected[version];
    }
  }
  std::set<std::string> ids;
  std::map<uint64_t, uint64_t> views;
  ASSERT_OK(VisitRecords(
      deployment_.tuples(), /*closed=*/true,
      [&](const log::v1::LogRecord& record) {
        if (!record.has_tuple()) return;
        const log::v1::BanditTuple& tuple = record.tuple();
        const std::string& id = tuple.decision().decision_id();
        EXPECT_TRUE(ids.insert(id).second) << id;
        EXPECT_THAT(tuple.censored(), IsEmpty());
        uint64_t before = 0;
        for (const log::v1::ShadowView& view : tuple.shadow_views()) {
          EXPECT_EQ(view.decision_id(), id);
          EXPECT_GT(view.version(), before);
          before = view.version();
          EXPECT_TRUE(IsToLookOn(view.version(), id));
          ++views[view.version()];
        }
      }));
  EXPECT_EQ(ids.size(), load.answered().size());
  uint64_t all = 0;
  for (const auto& [version, every] : kShadows) {
    EXPECT_EQ(views[version], expected[version]);
    all += views[version];
  }
  EXPECT_THAT(
      Run({"sortition", "log", "verify", deployment_.tuples(),
           "--model_store=" + deployment_.models()}),
      AllOf(HasSubstr(absl::StrCat(ids.size(), " decisions verified")),
            HasSubstr(" 0 different, 0 corrupt"),
            HasSubstr(absl::StrCat(all, " views of shadows verified"))));
  EXPECT_THAT(
      Run({"sortition", "log", "stats", deployment_.tuples(), "--output=json"}),
      HasSubstr(absl::StrCat("\"shadow_views\":", all)));
}

TEST_F(ShadowTest, ViewsAndDropsAddUp) {
  SetShadows();
  SelectLoad load(
      {.address = deployment_.address(), .num_features = kShadowFeatures});
  ASSERT_TRUE(
      PollUntil(kPatienceSeconds, [&] { return load.num_answered() >= 1000; }));
  load.Stop();
  double expected = 0;
  for (const std::string& id : load.answered()) {
    for (const auto& [version, every] : kShadows) {
      if (IsToLookOn(version, id)) ++expected;
    }
  }
  double counted = 0;
  EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
    const auto text = deployment_.ServerMetrics();
    EXPECT_OK(text);
    counted = MetricSum(*text, "sortition_shadow_views_total") +
              MetricSum(*text, "sortition_shadow_dropped_total");
    return counted >= expected;
  }));
  EXPECT_EQ(counted, expected);
}

// Mode SHADOW: the baseline is served, and the model says what it thinks of it.
TEST_F(ShadowTest, AModelInShadowModeLooksOnAtTheBaseline) {
  v1::ChangeServingRequest mode = Change();
  mode.mutable_set_mode()->set_mode(model::v1::SHADOW);
  ASSERT_OK(client_->ChangeServing(mode));
  StartSidecar();
  constexpr int kDecisions = 100;
  for (int i = 0; i < kDecisions; ++i) {
    v1::SelectRequest request;
    *request.mutable_context() =
        MakeContext(10, kShadowFeatures, static_cast<uint32_t>(i));
    request.mutable_context()->set_decision_id(absl::StrCat("d", i));
    request.mutable_context()->mutable_baseline()->add_action(
        static_cast<uint32_t>(i) % 10);
    // Decisions with a seed are no sample of anything: nobody looks on.
    if (i % 10 == 0) {
      request.mutable_context()->set_seed(static_cast<uint64_t>(i));
    }
    ASSERT_OK_AND_ASSIGN(const v1::SelectResponse response,
                         client_->Select(request));
    EXPECT_EQ(response.selected(), static_cast<uint32_t>(i) % 10);
    EXPECT_TRUE(response.result().is_baseline());
  }
  const auto describe = [&] {
    return Run({"sortition", "models", "describe",
                "--server=" + deployment_.address()});
  };
  std::string text;
  EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
    text = describe();
    return text.find("over 90 decisions") != std::string::npos;
  })) << text;
  Finish(kDecisions);
  int views = 0;
  ASSERT_OK(VisitRecords(
      deployment_.tuples(), /*closed=*/true,
      [&](const log::v1::LogRecord& record) {
        if (!record.has_tuple()) return;
        const log::v1::Decision& decision = record.tuple().decision();
        EXPECT_EQ(record.tuple().shadow_views_size(),
                  decision.has_seed() ? 0 : 1);
        for (const auto& view : record.tuple().shadow_views()) {
          EXPECT_EQ(view.version(), 1u);
          EXPECT_LT(view.log_propensity(), 0);
          ++views;
        }
        EXPECT_EQ(decision.log_propensity(), 0);
      }));
  EXPECT_EQ(views, 90);
  EXPECT_THAT(Run({"sortition", "log", "verify", deployment_.tuples(),
                   "--model_store=" + deployment_.models()}),
              AllOf(HasSubstr("100 decisions verified"),
                    HasSubstr("90 views of shadows verified")));
}

TEST_F(ShadowTest, AVersionThatCannotLookOnIsRefusedByName) {
  v1::ChangeServingRequest request = Change();
  auto* shadow = request.mutable_set_shadows()->add_shadows();
  shadow->set_version(9);
  shadow->set_every(1);
  const auto changed = client_->ChangeServing(request);
  EXPECT_FALSE(changed.ok());
  EXPECT_THAT(std::string(changed.status().message()), HasSubstr("9"));
}

}  // namespace
}  // namespace sortition
