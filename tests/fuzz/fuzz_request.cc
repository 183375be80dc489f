// Bytes of a request, as they come over the network: the wire check, the parser
// and the service refuse them with a reason, or give an answer that can be.
// The first byte chooses the method.
#include <grpcpp/support/byte_buffer.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/base/check.h"
#include "io/models/model_store.h"
#include "process/metrics.h"
#include "server/decisions/aggregate_service.h"
#include "server/decisions/ranking_service.h"
#include "server/decisions/report_service.h"
#include "server/identity/tokens.h"
#include "server/models/model_registry.h"
#include "server/rpc/wire_counts.h"
#include "sortition/config/v1/server.pb.h"
#include "sortition/v1/ranking.pb.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/testing/column_model.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

// What a server serves: models for every call, of two features, and one of
// columns.
class Services {
 public:
  Services() {
    Publish("select", [](model::v1::Policy* policy) {
      policy->mutable_softmax_selection()->set_abstain_score(0);
    });
    Publish("rank", [](auto* policy) { policy->mutable_plackett_luce(); });
    Publish("boltzmann", [](auto* policy) {
      policy->mutable_boltzmann_ranking()->set_rank_weights(
          model::v1::BoltzmannRanking::LINEAR);
    });
    Publish("label",
            [](auto* policy) { policy->mutable_independent_subset(); });
    Publish("game", [](auto* policy) {
      policy->mutable_game_subset()->set_measure(model::v1::GameSubset::F_BETA);
    });
    CHECK(ModelStore(dir_.path())
              .Publish(MakeColumnModel("columns", 1), nullptr, {})
              .ok());
    CHECK(registry_.Start().ok());
  }

  const config::v1::RequestLimits& limits() const { return options_.limits(); }

  absl::Status Answer(const v1::RankRequest& request) {
    v1::RankResponse response;
    const absl::Status status = ranking_.Rank(request, &scratch_, &response);
    if (status.ok()) {
      CheckDecision(request.context(), response.result(), response.order());
    }
    return status;
  }
  absl::Status Answer(const v1::SelectRequest& request) {
    v1::SelectResponse response;
    const absl::Status status = ranking_.Select(request, &scratch_, &response);
    if (status.ok()) {
      google::protobuf::RepeatedField<uint32_t> chosen;
      if (!response.abstained()) {
        chosen.Add(response.selected());
      }
      CheckDecision(request.context(), response.result(), chosen);
    }
    return status;
  }
  absl::Status Answer(const v1::LabelRequest& request) {
    v1::LabelResponse response;
    const absl::Status status = ranking_.Label(request, &scratch_, &response);
    if (status.ok()) {
      CheckDecision(request.context(), response.result(), response.chosen());
    }
    return status;
  }
  absl::Status Answer(const v1::AggregateRequest& request) {
    v1::AggregateResponse response;
    scratch_.seconds_left = 0.02;
    const absl::Status status =
        aggregates_.Aggregate(request, &scratch_, &response);
    if (status.ok()) {
      CheckDecision(request.context(), response.result(), response.order());
    }
    return status;
  }
  absl::Status Answer(const v1::ReportShownRequest& request) {
    v1::ReportShownResponse response;
    return reports_.ReportShown(request, &scratch_, &response);
  }
  absl::Status Answer(const v1::ReportFeedbackRequest& request) {
    v1::ReportFeedbackResponse response;
    return reports_.ReportFeedback(request, &scratch_, &response);
  }

 private:
  static config::v1::ServerOptions MakeOptions(const std::string& store) {
    config::v1::ServerOptions options;
    options.set_model_store(store);
    options.mutable_limits()->set_max_candidates(64);
    options.mutable_limits()->set_max_features(16);
    options.mutable_limits()->set_max_game_seconds(0.01);
    return options;
  }

  template <typename SetKind>
  void Publish(const std::string& name, const SetKind& set_kind) {
    model::v1::Model model;
    model.set_name(name);
    model.set_num_features(2);
    model.add_weights(1);
    model.add_weights(-0.5);
    model.mutable_policy()->set_inverse_temperature(1);
    model.mutable_policy()->set_uniform_mixture(0.1);
    set_kind(model.mutable_policy());
    CHECK(ModelStore(dir_.path()).Publish(model, nullptr, {}).ok());
  }

  // What was chosen was eligible, once each, with a probability.
  template <typename Documents>
  static void CheckDecision(const v1::DecisionContext& context,
                            const v1::DecisionResult& result,
                            const Documents& chosen) {
    CHECK(std::isfinite(result.log_propensity()));
    CHECK(result.log_propensity() <= 1e-9);
    CHECK(!result.decision_id().empty());
    std::set<int64_t> seen;
    for (const auto document : chosen) {
      CHECK(seen.insert(static_cast<int64_t>(document)).second);
      if (context.eligible().empty()) continue;
      CHECK(static_cast<int>(document) < context.eligible_size());
      CHECK(context.eligible(static_cast<int>(document)));
    }
  }

  const TempDir dir_{FastParent()};
  const config::v1::ServerOptions options_ = MakeOptions(dir_.path());
  Metrics metrics_;
  ModelRegistry registry_{options_, &metrics_};
  RankingService ranking_{options_.limits(), &registry_, nullptr, &metrics_};
  AggregateService aggregates_{options_.limits(), nullptr, &metrics_};
  ReportService reports_{options_.limits(), options_.feedback(), nullptr,
                         &metrics_};
  DecisionScratch scratch_;
};

template <typename Request>
void Call(absl::string_view bytes, Services* services) {
  const grpc::Slice slice(bytes.data(), bytes.size());
  grpc::ByteBuffer payload(&slice, 1);
  const absl::Status counted =
      CheckWireCounts(Request::descriptor(), services->limits(), &payload);
  CHECK(counted.ok() || !counted.message().empty());
  CHECK(payload.Length() == bytes.size());
  Request request;
  if (!counted.ok() ||
      !request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return;
  }
  const absl::Status status = services->Answer(request);
  CHECK(status.ok() || !status.message().empty());
  CHECK(!absl::IsInternal(status));
}

}  // namespace
}  // namespace sortition

FUZZ_TARGET(request) {
  using namespace sortition;  // NOLINT: the function must be outside.
  static Services services;
  if (size == 0) return;
  const absl::string_view bytes(reinterpret_cast<const char*>(data) + 1,
                                size - 1);
  switch (data[0] % 7) {
    case 0:
      Call<v1::RankRequest>(bytes, &services);
      break;
    case 1:
      Call<v1::SelectRequest>(bytes, &services);
      break;
    case 2:
      Call<v1::LabelRequest>(bytes, &services);
      break;
    case 3:
      Call<v1::AggregateRequest>(bytes, &services);
      break;
    case 4:
      Call<v1::ReportShownRequest>(bytes, &services);
      break;
    case 5:
      Call<v1::ReportFeedbackRequest>(bytes, &services);
      break;
    default:
      if (const auto table = TokenTable::Parse(bytes, "f"); !table.ok()) {
        CHECK(absl::IsInvalidArgument(table.status()));
      }
  }
}
