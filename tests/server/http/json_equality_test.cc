// The same request gets the same answer as JSON and over gRPC, bit for bit, and
// leaves the same record.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "gtest/gtest.h"
#include "tests/server/http/http_port_fixture.h"

namespace sortition {
namespace {

constexpr int kRequests = 10'000;

class JsonEqualityTest : public HttpPortFixture {
 protected:
  uint32_t Below(uint32_t end) {
    return static_cast<uint32_t>(random_.Uniform() * end);
  }
  bool Coin() { return Below(2) == 0; }
  // A float of any size, with all of its bits.
  float AnyFloat() {
    return static_cast<float>(random_.Normal() *
                              (Below(10) == 0 ? 1e-20 : 1.0));
  }

  void AddDense(uint32_t n, v1::Candidates* candidates) {
    std::vector<float> values(n * kFeatures);
    for (float& value : values) value = AnyFloat();
    if (Coin()) {
      candidates->mutable_dense()->mutable_values()->Assign(values.begin(),
                                                            values.end());
    } else {
      std::string packed(4 * values.size(), '\0');
      std::memcpy(packed.data(), values.data(), packed.size());
      candidates->mutable_dense()->set_packed(packed);
    }
  }

  void AddSparse(uint32_t n, v1::Candidates* candidates) {
    v1::SparseFeatures* const sparse = candidates->mutable_sparse();
    sparse->add_row_offsets(0);
    for (uint32_t i = 0; i < n; ++i) {
      for (uint32_t j = 0; j < kFeatures; ++j) {
        if (Coin()) continue;
        sparse->add_columns(j);
        sparse->add_values(AnyFloat());
      }
      sparse->add_row_offsets(static_cast<uint32_t>(sparse->columns_size()));
    }
  }

  void AddColumns(uint32_t n, v1::Candidates* candidates) {
    v1::Columns* const columns = candidates->mutable_columns();
    columns->set_num_candidates(n);
    v1::Column* const texts = columns->add_candidate();
    texts->set_name("sentence");
    v1::Column* const numbers = columns->add_candidate();
    numbers->set_name("length");
    for (uint32_t i = 0; i < n; ++i) {
      texts->mutable_texts()->add_values(
          absl::StrCat("\"é\\ \n", i, Coin() ? "\u2028" : "🎲"));
      numbers->mutable_numbers()->add_values(random_.Normal() * 1e10);
    }
    v1::Column* const query = columns->add_query();
    query->set_name("language");
    query->mutable_categories()->add_values(Coin() ? "en" : "");
  }

  v1::DecisionContext MakeContext(const std::string& model, int number) {
    v1::DecisionContext context;
    context.set_decision_id(absl::StrCat("decision-", number));
    const uint32_t n = 1 + Below(12);
    v1::Candidates* const candidates = context.mutable_candidates();
    const uint32_t kind = Below(5);
    if (kind == 0) {
      AddColumns(n, candidates);  // For the uniform policy.
    } else {
      context.set_model(model);
      candidates->set_num_features(kFeatures);
      kind < 3 ? AddDense(n, candidates) : AddSparse(n, candidates);
      if (Coin()) context.set_version(1);
    }
    if (Coin()) {
      for (uint32_t i = 0; i < n; ++i) context.add_eligible(Coin());
      context.set_eligible(static_cast<int>(Below(n)), true);
    }
    for (uint32_t i = 0; Below(3) == 0 && i < n; ++i) {
      candidates->add_ids(absl::StrCat("id ", i));
    }
    if (candidates->ids_size() != static_cast<int>(n)) candidates->clear_ids();
    if (Below(4) == 0) context.set_seed(~uint64_t{0} - Below(1000));
    context.set_return_scores(Coin());
    context.set_return_probabilities(Coin());
    if (Coin()) context.set_unit_id(absl::StrCat("user/", Below(9)));
    if (Coin()) (*context.mutable_attributes())["country_code"] = "NZ";
    return context;
  }

  // Asks both ways and compares.
  template <typename Request, typename Response, typename Method>
  void Compare(const std::string& path, Method method, const Request& request,
               bool has_proto_names) {
    Response by_grpc;
    grpc::ClientContext context;
    const grpc::Status status =
        (ranking_.get()->*method)(&context, request, &by_grpc);
    ASSERT_TRUE(status.ok()) << status.error_message();
    const HttpReply reply = Post(path, JsonOf(request, has_proto_names));
    ASSERT_EQ(reply.code, 200) << reply.body << request.ShortDebugString();
    Response by_json;
    ASSERT_TRUE(
        google::protobuf::util::JsonStringToMessage(reply.body, &by_json).ok())
        << reply.body;
    // The bytes of doubles are their bits.
    ASSERT_EQ(by_json.SerializeAsString(), by_grpc.SerializeAsString())
        << reply.body << by_grpc.ShortDebugString();
  }

  void CompareOne(int number) {
    const bool has_proto_names = number % 2 == 0;
    switch (Below(3)) {
      case 0: {
        v1::RankRequest request;
        *request.mutable_context() = MakeContext("rank", number);
        if (Coin()) request.set_top_k(1 + Below(5));
        return Compare<v1::RankRequest, v1::RankResponse>(
            "/v1/rank",
            static_cast<grpc::Status (v1::Ranking::Stub::*)(
                grpc::ClientContext*, const v1::RankRequest&,
                v1::RankResponse*)>(&v1::Ranking::Stub::Rank),
            request, has_proto_names);
      }
      case 1: {
        v1::SelectRequest request;
        *request.mutable_context() = MakeContext("select", number);
        return Compare<v1::SelectRequest, v1::SelectResponse>(
            "/v1/select",
            static_cast<grpc::Status (v1::Ranking::Stub::*)(
                grpc::ClientContext*, const v1::SelectRequest&,
                v1::SelectResponse*)>(&v1::Ranking::Stub::Select),
            request, has_proto_names);
      }
      default: {
        v1::LabelRequest request;
        *request.mutable_context() = MakeContext("label", number);
        return Compare<v1::LabelRequest, v1::LabelResponse>(
            "/v1/label",
            static_cast<grpc::Status (v1::Ranking::Stub::*)(
                grpc::ClientContext*, const v1::LabelRequest&,
                v1::LabelResponse*)>(&v1::Ranking::Stub::Label),
            request, has_proto_names);
      }
    }
  }

  RandomSequence random_{SeedKey(22)};
};

TEST_F(JsonEqualityTest, AnswersAndRecordsAreThoseOfGrpc) {
  StartServer();
  for (int i = 0; i < kRequests; ++i) {
    CompareOne(i);
    if (HasFailure()) return;
  }
  ASSERT_OK(server_->Drain());
  std::vector<log::v1::LogRecord> records = ReadSpool(options_.spool().dir());
  ASSERT_EQ(records.size(), size_t{2 * kRequests});
  for (size_t i = 0; i < records.size(); i += 2) {
    for (log::v1::LogRecord* const record : {&records[i], &records[i + 1]}) {
      record->mutable_decision()->clear_time_us();
    }
    ASSERT_EQ(records[i].SerializeAsString(),
              records[i + 1].SerializeAsString())
        << records[i].ShortDebugString() << "\n"
        << records[i + 1].ShortDebugString();
  }
}

}  // namespace
}  // namespace sortition
