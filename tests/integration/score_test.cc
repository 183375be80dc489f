// `sortition-trainer score` prints what a server that runs answers, to the last
// bit.
#include <map>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "client/rpc/client.h"
#include "core/base/random.h"
#include "io/files.h"
#include "io/models/model_store.h"
#include "tests/integration/loop_fixture.h"

namespace sortition {
namespace {

constexpr uint32_t kFeatures = 19;
constexpr int kCandidates = 30;

class ScoreProgramTest : public LoopFixture {
 protected:
  // Publishes a model with random weights under a name.
  void Publish(const std::string& name, model::v1::Policy policy) {
    model::v1::Model model;
    model.set_name(name);
    policy.set_inverse_temperature(0.7);
    policy.set_uniform_mixture(0.05);
    *model.mutable_policy() = policy;
    model.set_num_features(kFeatures);
    RandomSequence random(SeedKey(name.size()));
    for (uint32_t j = 0; j < kFeatures; ++j) model.add_weights(random.Normal());
    ASSERT_OK(deployment_.store().Publish(model, nullptr, {}, {}));
  }

  bool AllServe(int num_models) {
    const auto stub = v1::Models::NewStub(deployment_.NewChannel());
    return PollUntil(kPatienceSeconds, [&] {
      grpc::ClientContext context;
      v1::ListModelsResponse response;
      if (!stub->ListModels(&context, {}, &response).ok()) return false;
      int serving = 0;
      for (const v1::ModelStatus& model : response.models()) {
        serving += model.version() == 1 ? 1 : 0;
      }
      return serving == num_models;
    });
  }

  v1::DecisionContext Context(const std::string& model) const {
    v1::DecisionContext context;
    context.set_model(model);
    context.set_return_scores(true);
    context.set_return_probabilities(true);
    context.mutable_candidates()->set_num_features(kFeatures);
    context.mutable_candidates()->mutable_dense()->mutable_values()->Add(
        features_.begin(), features_.end());
    return context;
  }

  // Writes the candidates as LETOR text.
  std::string WriteData() {
    RandomSequence random(SeedKey(1));
    std::string text;
    for (int i = 0; i < kCandidates; ++i) {
      absl::StrAppend(&text, "0 qid:q");
      for (uint32_t j = 0; j < kFeatures; ++j) {
        const float value =
            j % 4 == 1 ? 0 : static_cast<float>(random.Normal());
        features_.push_back(value);
        if (value != 0) absl::StrAppendFormat(&text, " %d:%.9g", j + 1, value);
      }
      absl::StrAppend(&text, "\n");
    }
    const std::string path = deployment_.path("data.letor");
    EXPECT_OK(WriteFile(path, text));
    return path;
  }

  // Compares what is printed with a server's answer.
  void ExpectSame(const std::string& model, const std::string& data,
                  const v1::DecisionResult& result, double abstain) {
    const FinishedProcess run =
        Run({"sortition-trainer", "score", "--data=" + data, StoreFlag(),
             "--model=" + model});
    std::vector<std::string> lines =
        absl::StrSplit(run.stdout_text, '\n', absl::SkipEmpty());
    ASSERT_GE(lines.size(), size_t{kCandidates} + 1);
    for (size_t line = 1; line < lines.size(); ++line) {
      const std::vector<std::string> fields = absl::StrSplit(lines[line], '\t');
      ASSERT_EQ(fields.size(), 6u);
      double score = 0;
      double probability = 0;
      ASSERT_TRUE(absl::SimpleAtod(fields[4], &score));
      ASSERT_TRUE(absl::SimpleAtod(fields[5], &probability));
      if (fields[1] == "-1") {
        EXPECT_EQ(probability, abstain);
        continue;
      }
      const auto document = static_cast<int>(line) - 1;
      EXPECT_EQ(score, result.scores(document)) << model << lines[line];
      EXPECT_EQ(probability, result.probabilities(document)) << lines[line];
    }
  }

  std::vector<float> features_;
};

TEST_F(ScoreProgramTest, PrintsWhatTheServerAnswers) {
  const std::string data = WriteData();
  model::v1::Policy policy;
  policy.mutable_plackett_luce();
  Publish("orders", policy);
  policy.mutable_softmax_selection()->set_abstain_score(0.5);
  Publish("one", policy);
  policy.mutable_independent_subset()->set_k(7);
  Publish("subset", policy);
  ASSERT_OK(deployment_.StartServer({}));
  ASSERT_TRUE(AllServe(3));
  ASSERT_OK_AND_ASSIGN(const auto client,
                       Client::Connect(deployment_.address()));
  v1::RankRequest rank;
  *rank.mutable_context() = Context("orders");
  ASSERT_OK_AND_ASSIGN(const v1::RankResponse order, client->Rank(rank));
  ExpectSame("orders", data, order.result(), 0);
  v1::SelectRequest select;
  *select.mutable_context() = Context("one");
  ASSERT_OK_AND_ASSIGN(const v1::SelectResponse one, client->Select(select));
  ASSERT_GT(one.abstain_probability(), 0);
  ExpectSame("one", data, one.result(), one.abstain_probability());
  v1::LabelRequest label;
  *label.mutable_context() = Context("subset");
  ASSERT_OK_AND_ASSIGN(const v1::LabelResponse subset, client->Label(label));
  ExpectSame("subset", data, subset.result(), 0);
}

}  // namespace
}  // namespace sortition
