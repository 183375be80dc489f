// Every expression of the dashboards and of the alerts, asked of a Prometheus
// that scrapes real processes under load.
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/rpc/client.h"
#include "gmock/gmock.h"
#include "io/models/training_runs.h"
#include "tests/deploy/monitoring/expressions.h"
#include "tests/deploy/monitoring/monitored_fixture.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using testing::IsEmpty;

// What only some deployments or faults bring about, by the beginning of the
// names of the metrics.
const std::map<std::string, std::string> kElsewhere = {
    {"sortition_drift", "a model with a schema, and values for half an hour"},
    {"sortition_model_load_failures_total", "a version that is refused"},
    {"sortition_certificate_", "TLS"},
    {"sortition_http_requests_total", "calls over HTTP"},
    {"sortition_token_", "tokens that end"},
    {"sortition_ship_", "a sidecar that publishes to a stream"},
    {"sortition_stream_", "a stream"},
    {"sortition_mirror_", "a sidecar that consumes a stream"}};

bool IsElsewhere(const std::string& expression) {
  for (const std::string& metric : MetricsIn(expression)) {
    for (const auto& [prefix, why] : kElsewhere) {
      if (absl::StartsWith(metric, prefix)) return true;
    }
  }
  return false;
}

class QueriesTest : public MonitoredTest {
 protected:
  static constexpr uint32_t kFeatures = 8;
  model::v1::Model Named(const std::string& name, model::v1::Model model) {
    model.set_name(name);
    return model;
  }
  static model::v1::Model LabelModel() {
    model::v1::Model model = SelectionModel(kFeatures, 0.1);
    model.mutable_policy()->clear_uniform_mixture();
    auto& game = *model.mutable_policy()->mutable_game_subset();
    game.set_measure(model::v1::GameSubset::F_BETA);
    return model;
  }

  void Change(const std::string& model,
              const std::function<void(v1::ChangeServingRequest*)>& set) {
    v1::ChangeServingRequest request;
    request.set_model(model);
    request.set_reason("test");
    set(&request);
    EXPECT_OK(client_->ChangeServing(request));
  }
  void Pin(const std::string& model, uint64_t version) {
    Change(model,
           [&](auto* change) { change->mutable_pin()->set_version(version); });
  }

  // Model "default" is split, and a shadow looks on; "order" is interleaved;
  // "apprentice" learns from a baseline; "label" plays games.
  void SetUpModels() {
    for (const double scale : {0.01, 0.02, 0.03}) {
      Publish(SelectionModel(kFeatures, scale));
      Publish(Named("order", RankingModel(kFeatures, scale)));
    }
    Publish(Named("apprentice", SelectionModel(kFeatures, 0.1)));
    Publish(Named("label", LabelModel()));
    model::v1::TrainingRun run;
    run.set_kind("train");
    run.set_time_us(1'700'000'000'000'000);
    run.set_outcome(model::v1::TrainingRun::DONE);
    EXPECT_OK(WriteTrainingRun(deployment_.models(), "default", run));
    StartServer(
        {"--spool.segment_bytes=262144", "--spool.segment_seconds=0.3"});
    Pin("default", 1);
    Change("default", [](auto* change) {
      auto& arm = *change->mutable_set_split()->add_arms();
      arm.set_version(2);
      arm.set_parts(5000);
    });
    Change("default", [](auto* change) {
      auto& shadow = *change->mutable_set_shadows()->add_shadows();
      shadow.set_version(3);
      shadow.set_every(1);
    });
    Pin("order", 1);
    Change("order", [](auto* change) {
      auto& other = *change->mutable_set_interleave();
      other.set_version(2);
      other.set_method(model::v1::Interleave::TEAM_DRAFT);
      other.set_parts(10000);
    });
    Change("apprentice", [](auto* change) {
      change->mutable_set_mode()->set_mode(model::v1::APPRENTICE);
    });
  }

  template <typename Request>
  static Request RequestOf(const std::string& model, uint64_t i) {
    Request request;
    *request.mutable_context() =
        MakeContext(5, kFeatures, static_cast<uint32_t>(i));
    request.mutable_context()->set_model(model);
    return request;
  }

  // One of each kind of request; decisions of "default" get rewards of 0 or 1.
  void Ask(uint64_t i) {
    if (Select(i, 10, kFeatures) > 0 && i % 2 == 0) {
      Report(i, static_cast<double>(i / 2 % 2));
    }
    EXPECT_OK(client_->Rank(RequestOf<v1::RankRequest>("order", i)));
    auto apprentice = RequestOf<v1::SelectRequest>("apprentice", i);
    apprentice.mutable_context()->mutable_baseline()->add_action(0);
    EXPECT_OK(client_->Select(apprentice));
    EXPECT_OK(client_->Label(RequestOf<v1::LabelRequest>("label", i)));
    auto aggregate = RequestOf<v1::AggregateRequest>("aggregate", i);
    aggregate.set_concentration(2);
    EXPECT_OK(client_->Aggregate(aggregate));
    v1::RankStreamRequest item;
    *item.mutable_rank() = RequestOf<v1::RankRequest>("order", i);
    EXPECT_OK(client_->RankStream({item}));
    EXPECT_FALSE(client_->Rank(v1::RankRequest()).ok());
  }

  // Whether it has a series whose value is a number.
  bool HasData(const std::string& expression, std::string* error) {
    const auto samples = prometheus_->Query(expression);
    if (!samples.ok()) *error = std::string(samples.status().message());
    if (!samples.ok()) return false;
    return std::any_of(samples->begin(), samples->end(), [](const auto& each) {
      return !std::isnan(each.value);
    });
  }
  // Asks until each has data; `name` says where it stands.
  void ExpectData(std::map<std::string, std::string> name_of_expression) {
    EXPECT_THAT(name_of_expression, testing::Not(IsEmpty()));
    std::string error;
    EXPECT_TRUE(PollUntil(kPatienceSeconds,
                          [&] {
                            std::erase_if(name_of_expression,
                                          [&](const auto& each) {
                                            return HasData(each.first, &error);
                                          });
                            return name_of_expression.empty();
                          }))
        << "no data: "
        << absl::StrJoin(name_of_expression, "\n", absl::PairFormatter(": "))
        << "\n"
        << error;
  }
  // Expressions of all panels that `is_wanted`, with their panels.
  static std::map<std::string, std::string> OfPanels(
      const std::function<bool(const std::string&)>& is_wanted) {
    std::map<std::string, std::string> wanted;
    const auto all = DashboardExpressions();
    EXPECT_OK(all);
    for (const DashboardExpression& each : *all) {
      if (!is_wanted(each.expression)) continue;
      wanted[each.expression] = absl::StrCat(each.dashboard, ", ", each.panel);
    }
    return wanted;
  }
  // The metrics of all alerts that `is_wanted`, with their alerts.
  std::map<std::string, std::string> OfAlerts(
      const std::function<bool(const std::string&)>& is_wanted) {
    absl::StatusOr<std::vector<AlertRule>> rules;
    EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
      rules = prometheus_->Rules();
      return rules.ok();
    })) << rules.status();
    std::map<std::string, std::string> wanted;
    for (const AlertRule& rule : *rules) {
      EXPECT_EQ(rule.error, "") << rule.name;
      for (const std::string& metric : MetricsIn(rule.expression)) {
        if (is_wanted(metric)) wanted[metric] = rule.name;
      }
    }
    return wanted;
  }
};

TEST_F(QueriesTest, HaveDataUnderLoad) {
  SetUpModels();
  StartSidecar({JoinWindow(0.5)});
  StartPrometheus(true);
  const Repeating load([&](uint64_t i) { Ask(i); });
  Publish(Named("label", LabelModel()));
  const auto is_here = [](const std::string& expression) {
    return !IsElsewhere(expression);
  };
  ExpectData(OfPanels(is_here));
  ExpectData(OfAlerts(is_here));
}

// A sidecar beside the server publishes, another one consumes.
TEST_F(QueriesTest, OfStreamsHaveDataWhereThereAreStreams) {
  SKIP_WITHOUT_STREAMS();
  NatsCluster brokers(deployment_.path("nats"), 1);
  brokers.Start();
  Publish(SelectionModel(kFeatures, 0.01));
  StartServer({"--spool.segment_seconds=0.3"});
  StartSidecar({"--publish.url=" + brokers.urls(),
                "--publish.max_bytes=100000000", "--poll_seconds=0.02"});
  const int port = FreePort();
  const std::string mirror = deployment_.path("mirror");
  const auto consumer = ChildProcess::Start(
      {BinaryPath("sortition-sidecar"), "--consume.url=" + brokers.urls(),
       "--mirror=" + mirror, "--spool=" + mirror + "/*",
       "--tuples=" + deployment_.path("joined"), JoinWindow(0.5),
       absl::StrCat("--metrics_listen=127.0.0.1:", port)},
      deployment_.path("consumer"));
  ASSERT_OK(consumer);
  StartPrometheus(true, {{"sortition-consumer", "consumer", port}});
  const Repeating load([&](uint64_t i) { Select(i, 10, kFeatures); });
  const auto is_of_streams = [](const std::string& expression) {
    const std::vector<std::string> metrics = MetricsIn(expression);
    return std::any_of(metrics.begin(), metrics.end(), [](const auto& metric) {
      return absl::StartsWith(metric, "sortition_ship_") ||
             absl::StartsWith(metric, "sortition_stream_") ||
             absl::StartsWith(metric, "sortition_mirror_");
    });
  };
  ExpectData(OfPanels(is_of_streams));
  ExpectData(OfAlerts(is_of_streams));
}

}  // namespace
}  // namespace sortition
