// Versions are published, pinned, split, labelled, rolled back and unloaded
// while clients ask: no request fails, and each is answered by the version that
// was to serve it. With SORTITION_LONG=1 or --long: 1,000 swaps and 100 of each
// other change.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "tests/integration/load.h"
#include "tests/integration/versions/version_ledger.h"
#include "tests/integration/versions/versions_fixture.h"
#include "tests/testing/chi_square.h"

namespace sortition {
namespace {

using testing::IsEmpty;

// Makes changes of all kinds in a random order, and tells the ledger.
class ChangesTest : public VersionsTest {
 protected:
  void SetUp() override {
    VersionsTest::SetUp();
    Apply([](auto* request) {
      request->mutable_set_label()->set_name("stable");
      request->mutable_set_label()->set_version(1);
    });
  }

  void Apply(const std::function<void(v1::ChangeServingRequest*)>& set) {
    ledger_.Begin();
    const auto changed = Change(set);
    ASSERT_OK(changed);
    serving_ = changed->serving();
    ledger_.End(serving_, changed->version());
  }

  // Publishes a version, which serves once the server has looked.
  void Swap() {
    if (serving_.pinned_version() > 0) {
      Apply([](auto* request) { request->mutable_unpin(); });
    }
    ledger_.Begin();
    const uint64_t version = Publish();
    ASSERT_OK(client_->ReloadModels());
    ledger_.End(serving_, version);
  }

  uint64_t AnyVersion() {
    const auto newest = static_cast<uint64_t>(num_published_);
    const uint64_t some = std::min<uint64_t>(newest, 20);
    return newest -
           static_cast<uint64_t>(random_.Uniform() * static_cast<double>(some));
  }

  void Pin() {
    const uint64_t version = AnyVersion();
    Apply([&](auto* request) { request->mutable_pin()->set_version(version); });
  }

  // Of one or two versions that do not serve the rest.
  void Split() {
    const uint64_t primary = Status().version();
    std::set<uint64_t> versions = {AnyVersion(), AnyVersion()};
    versions.erase(primary);
    Apply([&](auto* request) {
      auto& split = *request->mutable_set_split();
      for (const uint64_t version : versions) {
        auto& arm = *split.add_arms();
        arm.set_version(version);
        arm.set_parts(1 + static_cast<uint32_t>(random_.Uniform() * 5000));
      }
    });
  }

  void Label() {
    const uint64_t version = AnyVersion();
    Apply([&](auto* request) {
      request->mutable_set_label()->set_name("stable");
      request->mutable_set_label()->set_version(version);
    });
  }

  void Rollback() {
    const uint64_t version = AnyVersion();
    Apply([&](auto* request) {
      request->mutable_rollback()->set_version(version);
    });
  }

  // Ends the split and all pins, so that versions are unloaded.
  void Unload() {
    Apply([](auto* request) { request->mutable_set_split(); });
    Apply([](auto* request) { request->mutable_unpin(); });
  }

  // Each kind so many times, in a random order.
  void MakeChanges(int swaps, int others) {
    using Make = void (ChangesTest::*)();
    constexpr std::array<Make, 6> kKinds = {
        &ChangesTest::Swap,  &ChangesTest::Pin,      &ChangesTest::Split,
        &ChangesTest::Label, &ChangesTest::Rollback, &ChangesTest::Unload};
    std::vector<size_t> order(static_cast<size_t>(swaps), 0);
    for (size_t kind = 1; kind < kKinds.size(); ++kind) {
      order.insert(order.end(), static_cast<size_t>(others), kind);
    }
    for (size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[static_cast<size_t>(
                                  random_.Uniform() * static_cast<double>(i))]);
    }
    for (const size_t kind : order) {
      (this->*kKinds[kind])();
      if (HasFatalFailure()) return;
    }
  }

  VersionLedger ledger_;
  model::v1::Serving serving_;
  RandomSequence random_{SeedKey(19)};
};

TEST_F(ChangesTest, EveryAnswerIsOfTheVersionThatWasToServe) {
  VersionLoad load(deployment_.address(), 8);
  const auto passes = [&](uint64_t count) {
    const uint64_t before = load.num_answered();
    return PollUntil(kPatienceSeconds,
                     [&] { return load.num_answered() >= before + count; });
  };
  ASSERT_TRUE(passes(100));
  MakeChanges(IsLongRun() ? 1000 : 40, IsLongRun() ? 100 : 10);
  ASSERT_TRUE(passes(100));
  load.Stop();
  EXPECT_THAT(load.failures(), IsEmpty());
  std::set<uint64_t> versions;
  int wrong = 0;
  for (const VersionLoad::Answer& answer : load.answers()) {
    versions.insert(answer.version);
    if (!ledger_.WasToServe(answer.request, answer.version, answer.start,
                            answer.end)) {
      ++wrong;
    }
  }
  EXPECT_EQ(wrong, 0) << "of " << load.answers().size();
  // Guards the test: the versions really change under the clients.
  EXPECT_GT(versions.size(), IsLongRun() ? 300u : 15u);
  // What is not used any more is freed.
  Unload();
  Apply(
      [](auto* request) { request->mutable_set_label()->set_name("stable"); });
  EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
    return Status().loaded_size() == 1 &&
           Metric("sortition_model_retired_bytes") == 0;
  }));
}

// Guards the test above: the ledger does find a wrong answer.
TEST(VersionLedgerTest, FindsAnswersOfVersionsThatWereNotToServe) {
  VersionLedger ledger;
  model::v1::Serving serving;
  ledger.Begin();
  ledger.End(serving, 1);
  const int64_t first = SteadyNanos();
  ledger.Begin();
  const int64_t between = SteadyNanos();
  ledger.End(serving, 2);
  const int64_t last = SteadyNanos();
  const VersionLedger::Request request = {"u", "d", ""};
  EXPECT_TRUE(ledger.WasToServe(request, 1, first, first));
  EXPECT_FALSE(ledger.WasToServe(request, 2, first, first));
  EXPECT_TRUE(ledger.WasToServe(request, 1, between, between));
  EXPECT_TRUE(ledger.WasToServe(request, 2, between, between));
  EXPECT_FALSE(ledger.WasToServe(request, 1, last, last));
  EXPECT_TRUE(ledger.WasToServe(request, 2, last, last));
  EXPECT_TRUE(ledger.WasToServe(request, 1, first, last));
  EXPECT_FALSE(ledger.WasToServe({"u", "d", "stable"}, 2, last, last));
}

TEST_F(ChangesTest, ASplitHasItsSharesAndUnitsStick) {
  Publish();
  ASSERT_OK(client_->ReloadModels());
  Apply([](auto* request) {
    for (const uint64_t version : {1, 2}) {
      auto& arm = *request->mutable_set_split()->add_arms();
      arm.set_version(version);
      arm.set_parts(version == 1 ? 500 : 2500);
    }
  });
  std::map<std::string, uint64_t> of_unit;
  std::array<uint64_t, 3> counts = {};
  v1::SelectRequest request;
  *request.mutable_context() = MakeContext(5, kFeatures, 1);
  for (int i = 0; i < 4000; ++i) {
    const std::string unit = i % 2 == 0 ? absl::StrCat("u", i % 100) : "";
    request.mutable_context()->set_unit_id(unit);
    request.mutable_context()->clear_decision_id();
    ASSERT_OK_AND_ASSIGN(const auto response, client_->Select(request));
    const uint64_t version = response.result().model().version();
    if (unit.empty()) {
      ++counts[version - 1];
    } else {
      EXPECT_EQ(of_unit.emplace(unit, version).first->second, version);
    }
  }
  // The salt is random: in a million runs one fails.
  EXPECT_GT(ChiSquarePValue(counts, std::array{0.05, 0.25, 0.7}), 1e-6)
      << counts[0] << " " << counts[1] << " " << counts[2];
}

}  // namespace
}  // namespace sortition
