// Wrong requests as people write them who know JSON and not protobuf: each
// error names the place in the words of the body, and what is right.
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/http/http_port_fixture.h"

namespace sortition {
namespace {

using testing::HasSubstr;

struct WrongBody {
  std::string path;
  std::string body;
  std::string message;  // A part of it.
};

// A body whose candidates are these.
std::string With(const std::string& candidates) {
  return "{\"context\":{\"candidates\":" + candidates + "}}";
}

std::vector<WrongBody> WrongSyntax() {
  const std::string p = "/v1/rank";
  return {
      {p, "{'top_k': 1}", "names and texts need double quotes"},
      {p, "{top_k: 1}", "names and texts need double quotes"},
      {p, R"({"top_k": 1,})", "no comma may stand before }"},
      {p, With("[[1,2],]"), "no comma may stand before ]"},
      {p, R"({"top_k": 1} // all)", "JSON has no comments"},
      {p, With("[[NaN]]"), "NaN is no number in JSON"},
      {p, R"({"context": None})", "None is null in JSON"},
      {p, R"({"context": {"return_scores": True}})", "True is true in JSON"},
      {p, R"({"context": {)", "the JSON ends early"},
      {p, R"({"top_k": 1, "top_k": 2})", R"(key "top_k" stands there twice)"},
      {p, R"({"top_k": 01})", "line 1, column 12"},
      {p, "top_k=1", "not JSON: at line 1, column 2"},
      {p, R"({"top_k": 1}{"top_k": 2})", "line 1, column 13"},
      {p, With("[\"a\nb\"]"),
       "line 1, column 29: Invalid escape character in string; a line break "
       "inside a text must be written \\n"},
      {p, With("[\"C:\\dir\"]"),
       "a backslash inside a text must be written \\\\"},
  };
}

std::vector<WrongBody> WrongNames() {
  const std::string p = "/v1/rank";
  return {
      {p, R"({"topk": 1})", R"(unknown field "topk"; did you mean "top_k"?)"},
      {p, R"({"top_n": 1})", R"(did you mean "top_k"?)"},
      {p, R"({"k": 1})", R"(did you mean "top_k"?)"},
      {p, R"({"Context": {}})", R"(did you mean "context"?)"},
      {p, R"({"candidates": []})", R"(did you mean "context.candidates"?)"},
      {p, R"({"decision_id": "d"})", R"(did you mean "context.decision_id"?)"},
      {p, R"({"model": "m"})", R"(did you mean "context.model"?)"},
      {p, R"({"values": [1]})",
       R"(did you mean "context.candidates.dense.values"?)"},
      {p, R"({"context": {"decisionID": "d"}})",
       R"("context.decisionID"; did you mean "context.decision_id"?)"},
      {p, R"({"context": {"candidate": []}})",
       R"(did you mean "context.candidates"?)"},
      {p, R"({"context": {"unit": "u"}})", R"(mean "context.unit_id"?)"},
      {p, With(R"({"features": 2})"),
       R"("context.candidates.features"; did you mean)"},
      {p, With(R"({"rows": []})"),
       "must be one of num_features, dense, sparse, columns, ids"},
      {p, With(R"({"dense": {"value": [1]}})"),
       R"("context.candidates.dense.value"; did you mean)"},
      {p, With(R"({"columns": {"candidate": [{"nam": "a"}]}})"),
       R"("context.candidates.columns.candidate[0].nam"; did you mean)"},
      {p, R"({"top_k": 1, "topK": 2})",
       R"("top_k" and "topK" are two spellings of one field)"},
      {p, With(R"({"dense": {}, "sparse": {}})"),
       R"(only one of dense, sparse, columns may be)"},
      {"/v1/shown", R"({"decision": "d", "shown": [0]})",
       R"(did you mean "decision_id"?)"},
      {"/v1/shown", R"({"decision_id": "d", "order": [0]})",
       "must be one of decision_id, shown, not_shown"},
      {"/v1/feedback", R"({"decision_id": "d", "value": 1})",
       R"(unknown field "value")"},
      {"/v1/feedback", R"({"id": "d", "rating": 1})",
       R"(unknown field "rating"; must be one of feedback_id, decision_id, )"
       R"(reward, loss, rank, index, such as {"decision_id": "d", "index": 0, )"
       R"("reward": 1})"},
      {"/v1/feedback", R"({"id": "d", "score": 1})", "must be one of feedback"},
      {p, R"({"documents": ["a"]})",
       R"("documents"; must be one of context, top_k, such as {"context": )"
       R"({"candidates": [{"title": "a"}, {"title": "b"}]}})"},
      {p, R"({"context": {"items": ["a"]}})",
       R"(baseline, such as {"candidates": [{"title": "a"}, {"title": "b"}]})"},
      {"/v1/rerank", R"({"query": "q", "candidates": ["a"]})",
       R"(unknown field "candidates"; did you mean "documents"?)"},
      {"/v1/batch", R"({"calls": [{"path": "/v1/rank"}]})",
       R"("calls[0].path"; must be one of method, request, such as)"},
      {"/v1/feedback", R"([{"decision_id": "d", "rewards": 1}])",
       R"(unknown field "[0].rewards"; did you mean "[0].reward"?)"},
      {"/v1/label", R"({"top_k": 1})", R"(did you mean "k"?)"},
      {"/v1/aggregate", R"({"weights": [1]})",
       R"(did you mean "aggregation.weights"?)"},
  };
}

std::vector<WrongBody> WrongTypes() {
  const std::string p = "/v1/rank";
  return {
      {p, "[]", "the body is a list: must be a JSON object, such as {"},
      {p, "",
       R"(the body is empty: must be a JSON object, such as {"context")"},
      {"/v1/feedback", "", R"(the body is empty: must be a JSON object, such)"},
      {"/v1/feedback", R"(["d"])",
       R"([0] = "d": must be an object, such as {)"},
      {"/v1/shown", "[0, 1]",
       R"(a list: must be a JSON object, such as {"decision_id": "d", )"},
      {"/v1/batch", "[]", R"(must be a JSON object, such as {"calls": [)"},
      {"/v1/rerank", "", R"(such as {"query": "q", "documents": ["a", "b"]})"},
      {p, R"({"context": {"candidates": ["a"], "baseline": [0]}})",
       R"(context.baseline is a list: must be an object, such as {"action")"},
      {p, "7", "the body = 7: must be a JSON object"},
      {p, "null", "the body = null: must be a JSON object"},
      {p, R"("context")", R"(the body = "context": must be a JSON object)"},
      {p, R"({"context": []})", "context is a list: must be an object"},
      {p, R"({"context": "m"})", R"(context = "m": must be an object)"},
      {p, R"({"top_k": "three"})",
       R"(top_k = "three": must be a whole number in [0, 4294967295])"},
      {p, R"({"top_k": [1]})", "top_k is a list: must be a whole number"},
      {p, R"({"top_k": true})", "top_k = true: must be a whole number"},
      {p, R"({"context": {"model": {}}})",
       "context.model is an object: must be a text in double quotes"},
      {p, R"({"context": {"model": 1.5}})",
       "context.model = 1.5: must be a text"},
      {p, R"({"context": {"return_scores": "true"}})",
       "must be true or false, without quotes"},
      {p, R"({"context": {"return_scores": 1}})",
       "context.return_scores = 1: must be true or false"},
      {p, R"({"context": {"eligible": true}})",
       "context.eligible = true: must be a list of true and false"},
      {p, R"({"context": {"eligible": [true, 0]}})",
       "context.eligible[1] = 0: must be true or false"},
      {p, R"({"context": {"eligible": [true, null]}})",
       "context.eligible[1] = null: must be true or false"},
      {p, R"({"context": {"attributes": ["a"]}})",
       "context.attributes is a list: must be an object"},
      {p, R"({"context": {"attributes": {"a": null}}})",
       "context.attributes.a = null: must be a text"},
      {p, With("3"), "context.candidates = 3: must be an object"},
      {p, With("[]"), "context.candidates is an empty list"},
      {p, With("[1, 2]"),
       "context.candidates[0] = 1: must be a text, or an "
       "object of named values"},
      {p, With("[[1], 2]"), "context.candidates[1] = 2: must be a list"},
      {p, With(R"([["a"]])"),
       R"(context.candidates[0][0] = "a": must be a number)"},
      {p, With("[[1, null]]"),
       "context.candidates[0][1] = null: must be a number"},
      {p, With(R"({"dense": {"values": 1}})"),
       "context.candidates.dense.values = 1: must be a list of numbers"},
      {p, With(R"({"dense": {"values": ["1,5"]}})"),
       R"(context.candidates.dense.values[0] = "1,5": must be a number)"},
      {p, With(R"({"dense": {"values": ["0x10"]}})"),
       R"(values[0] = "0x10": must be a number)"},
      {p, With(R"({"dense": {"packed": "?"}})"),
       R"(packed = "?": must be a text of base64)"},
      {p, With(R"({"ids": "a"})"),
       R"(context.candidates.ids = "a": must be a list of texts)"},
      {p, With(R"({"columns": [1]})"), "context.candidates.columns is a list"},
      {p, With(R"({"columns": {"a": [1, "x"]}})"),
       R"(context.candidates.columns.a[1] = "x": must be a number)"},
      {p, With(R"({"columns": {"candidate": {"a": 1}}})"),
       "columns.candidate.a = 1: must be a list with a value per candidate"},
      {p, With(R"([{"a": {"b": 1}}])"),
       "context.candidates[0].a is an object: must be"},
      {"/v1/shown", R"({"decision_id": "d", "shown": 0})",
       "shown = 0: must be a list of numbers"},
      {"/v1/shown", R"({"decision_id": "d", "shown": ["first"]})",
       R"(shown[0] = "first": must be a whole number)"},
      {"/v1/feedback", R"({"decision_id": "d", "reward": "good"})",
       R"(reward = "good": must be a number)"},
      {"/v1/feedback", R"({"decision_id": "d", "reward": true})",
       "reward = true: must be a number"},
      {"/v1/feedback", R"({"feedback": {"decision_id": "d"}})",
       "feedback is an object: must be a list of objects"},
      {"/v1/aggregate", R"({"divergence": "dcg"})",
       R"(divergence = "dcg": must be one of "DCG", "ALL_PAIRS", "TOP")"},
      {"/v1/aggregate", R"({"divergence": 9})", "divergence = 9: must be one"},
  };
}

std::vector<WrongBody> WrongValues() {
  const std::string p = "/v1/rank";
  return {
      {p, "{}",
       "context.candidates is empty: must have dense, sparse or columns; in "
       R"(JSON, a list with an entry per candidate will do, such as [{"title")"},
      {p, R"({"topK": 0, "context": {"candidates": ["a"]}})", "topK = 0: must"},
      {p, R"({"context": {"candidates": ["a"], "decisionId": "a\nb"}})",
       "context.decisionId = "},
      {p, With(R"([[1, 2], [3, "Infinity"]])"),
       R"(context.candidates[1][1] = "Infinity": must be a number in [)"},
      {p, With(R"([{"v": []}, {"v": [1]}])"),
       "context.candidates[0].v has 0 numbers: must have 1 to 4096"},
      {p, With(R"([{"a": 1}, {"a b": 2}])"),
       R"(field "context.candidates[1].a b": a column of that name cannot be)"},
      {p, With(R"([{"a": null}])"),
       "context.candidates has no value: at least"},
      {p, With("[{\"a\": \"\"}, {\"a\": \"" + std::string(65537, 'x') + "\"}]"),
       "context.candidates[1].a has 65537 bytes: must have at most 65536"},
      {p,
       With("{\"columns\": {\"a\": [\"\", \"" + std::string(65537, 'x') +
            "\"]}}"),
       "context.candidates.columns.a[1] has 65537 bytes"},
      {"/v1/rerank",
       R"({"query": "q", "documents": ["a", ")" + std::string(65537, 'x') +
           "\"]}",
       "documents[1] has 65537 bytes: must have at most 65536"},
      {"/v1/rerank",
       R"({"query": "q", "documents": [{}, {}, {}, {"title": ")" +
           std::string(65537, 'x') + "\"}]}",
       "documents[3].title has 65537 bytes"},
      {"/v1/rerank", R"({"query": "q", "texts": ["a", {"query": "b"}]})",
       R"(field "texts[1].query" must have another name)"},
      {"/v1/rerank", R"({"query": "q", "documents": [{}]})",
       "documents has no value"},
      {"/v1/rerank", R"({"query": "q", "documents": ["a"], "user": "a\u0007"})",
       "user = "},
      {"/v1/rerank",
       R"({"query": "q", "documents": ["a"], "sortition": {"eligible": [true, )"
       "false]}}",
       "sortition.eligible has 2 entries: must have 1"},
      {p, R"({"top_k": -1})", "top_k = -1: must be a whole number in [0, "},
      {p, R"({"top_k": 1.5})", "top_k = 1.5: must be a whole number"},
      {p, R"({"top_k": 5000000000})", "top_k = 5000000000: must be a whole"},
      {p, R"({"context": {"version": 1e30}})",
       "context.version = 1e+30: must be a whole number"},
      {p, With("[[1e60]]"),
       "context.candidates[0][0] = 1e+60: must be a number in "},
      {p, With("[[1, 2], [3]]"),
       "context.candidates[1] has 1 numbers: must have 2, as the first row"},
      {p, With("[[], []]"),
       "context.candidates[0] has 0 numbers: must have "
       "at least 1"},
      {p, With(R"({"num_features": 3, "dense": [[1, 2]]})"),
       "num_features = 3: must be 2, the length of the rows"},
      {p, With(R"({"columns": {"a": [1], "b": [1, 2]}})"),
       "columns.b has 2 values: must have 1, one per candidate, as "
       "context.candidates.columns.a has"},
      {p, R"({"top_k": 0, "context": {"candidates": [[1]]}})",
       "top_k = 0: must be at least 1"},
      {p, R"({"context": {"candidates": [[1]], "eligible": [true, true]}})",
       "context.eligible has 2 entries: must have 1"},
      {p, R"({"context": {"candidates": [[1]], "model": "nobody"}})",
       R"(context.model = "nobody")"},
      {"/v1/shown", R"({"decision_id": "d"})",
       "shown is empty: must list the document indexes that the user saw"},
      {"/v1/shown", R"({"decision_id": "d", "shown": [1, 1]})",
       "shown holds document_index 1 more than once"},
      {"/v1/shown", R"({"decision_id": "d", "shown": [100000]})",
       "shown[0] = 100000: must be in [0, 99999]"},
      {"/v1/shown", R"({"shown": [0]})", "decision_id = \"\": must have 1 to"},
      {"/v1/feedback", R"({"decision_id": "d"})",
       "reward and loss are unset: one of them must"},
      {"/v1/feedback", R"({"reward": 1})", "decision_id = \"\": must have 1"},
      {"/v1/feedback", R"({"id": "", "reward": 1})",
       R"("message":"id = "": must have 1)"},
      {"/v1/feedback", R"({"id": "d", "reward": 1, "index": 100000})",
       R"("message":"index = 100000: must be in [0, 99999])"},
      {"/v1/feedback",
       R"([{"id": "d", "reward": 1}, {"id": "d", "reward": 1, "rank": 100000}])",
       R"("message":"[1]: rank = 100000: must be in [0, 99999])"},
      {"/v1/feedback", R"({"feedback": [{"decision_id": "d", "reward": 1}]})",
       R"(feedback[0]: feedback_id = "": must have 1 to 128 bytes, and be )"},
      {"/v1/shown", R"({"id": "d", "shown": [0], "notShown": true})",
       "must have none where notShown is true"},
      {"/v1/feedback", R"({"id": "d", "reward": 1, "loss": 1})",
       R"("reward" and "loss" are both there: only one of reward, loss)"},
      {"/v1/feedback", R"({"id": "d", "reward": 1, "index": 1, "rank": 0})",
       "rank = 0: must be unset where index is set"},
      {"/v1/feedback", "[]", "feedback has 0 entries: must have 1 to"},
  };
}

class JsonErrorsTest : public HttpPortFixture {
 protected:
  void ExpectAllRefused(const std::vector<WrongBody>& wrong) {
    StartServer();
    for (const auto& [path, body, message] : wrong) {
      const HttpReply reply = Post(path, body);
      EXPECT_THAT(reply.code, testing::AnyOf(400, 404)) << path << body;
      // The message is a JSON string.
      EXPECT_THAT(
          absl::StrReplaceAll(reply.body, {{"\\\"", "\""}, {"\\\\", "\\"}}),
          HasSubstr(message))
          << path << " " << body;
      // Words of protobuf are of no use to those who do not know it.
      EXPECT_THAT(reply.body, testing::Not(HasSubstr("sortition.v1")));
    }
    ASSERT_OK(server_->Drain());
    EXPECT_TRUE(ReadSpool(options_.spool().dir()).empty());
  }
};

TEST_F(JsonErrorsTest, WrongSyntax) { ExpectAllRefused(WrongSyntax()); }
TEST_F(JsonErrorsTest, WrongNames) { ExpectAllRefused(WrongNames()); }
TEST_F(JsonErrorsTest, WrongTypes) { ExpectAllRefused(WrongTypes()); }
TEST_F(JsonErrorsTest, WrongValues) { ExpectAllRefused(WrongValues()); }

TEST_F(JsonErrorsTest, WrongPathsAndMethods) {
  StartServer();
  HttpReply reply = Post("/v1/ranking", "{}");
  EXPECT_EQ(reply.code, 404);
  EXPECT_THAT(reply.body, HasSubstr("there is no path \\\"/v1/ranking\\\"; did "
                                    "you mean \\\"/v1/rank\\\"?"));
  EXPECT_THAT(Post("/rank", "{}").body, HasSubstr("mean \\\"/v1/rank\\\"?"));
  EXPECT_THAT(Post("/v1/rank/", "{}").body,
              HasSubstr("mean \\\"/v1/rank\\\"?"));
  EXPECT_THAT(Post("/favicon.ico", "{}").body,
              testing::Not(HasSubstr("did you mean")));
  reply = GetHttp(http_port(), "/v1/rank");
  EXPECT_EQ(reply.code, 405);
  EXPECT_THAT(reply.body, HasSubstr("must be POST"));
}

}  // namespace
}  // namespace sortition
