#include "server/http/openapi.h"

#include <set>
#include <string>

#include "gmock/gmock.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "server/http/json_calls.h"
#include "server/http/rerank.h"
#include "sortition/v1/models.pb.h"
#include "sortition/v1/ranking.pb.h"
#include "tests/server/http/http_port_fixture.h"

namespace sortition {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;
using testing::Contains;
using testing::HasSubstr;

class OpenApiTest : public testing::Test {
 protected:
  OpenApiTest() {
    EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(
                    OpenApiDocument(config::v1::RequestLimits()), &document_)
                    .ok());
  }

  static const Value& At(const Struct& object, const std::string& key) {
    static const Value none;
    const auto found = object.fields().find(key);
    EXPECT_TRUE(found != object.fields().end()) << key;
    return found == object.fields().end() ? none : found->second;
  }
  static const Struct& In(const Struct& object, const std::string& key) {
    return At(object, key).struct_value();
  }
  const Struct& schemas() const {
    return In(In(document_, "components"), "schemas");
  }
  const Struct& Property(const std::string& message,
                         const std::string& field) const {
    return In(In(In(schemas(), message), "properties"), field);
  }

  // Collects all "$ref".
  static void FindReferences(const Value& value, std::set<std::string>* found) {
    for (const Value& each : value.list_value().values()) {
      FindReferences(each, found);
    }
    for (const auto& [key, each] : value.struct_value().fields()) {
      if (key == "$ref") found->insert(each.string_value());
      FindReferences(each, found);
    }
  }

  // Says what is wrong with a value of this schema; empty: nothing.
  std::string Validate(const Value& value, const Struct& schema) const;
  std::string ValidateObject(const Struct& object, const Struct& schema) const;

  Struct document_;
};

// By the JSON Schema of OpenAPI 3.0, as far as the document uses it.
std::string OpenApiTest::Validate(const Value& value,
                                  const Struct& schema) const {
  if (schema.fields().count("$ref") > 0) {
    const std::string name =
        At(schema, "$ref")
            .string_value()
            .substr(std::string("#/components/schemas/").size());
    return Validate(value, In(schemas(), name));
  }
  if (schema.fields().count("allOf") > 0) {
    return Validate(value,
                    At(schema, "allOf").list_value().values(0).struct_value());
  }
  const std::string type = At(schema, "type").string_value();
  switch (value.kind_case()) {
    case Value::kStructValue:
      if (type != "object") return "object for " + type;
      return ValidateObject(value.struct_value(), schema);
    case Value::kListValue:
      if (type != "array") return "array for " + type;
      for (const Value& each : value.list_value().values()) {
        const std::string problem = Validate(each, In(schema, "items"));
        if (!problem.empty()) return problem;
      }
      return "";
    case Value::kNumberValue:
      if (type != "number" && type != "integer") return "number for " + type;
      if (schema.fields().count("minimum") > 0 &&
          value.number_value() < At(schema, "minimum").number_value()) {
        return "below the minimum";
      }
      if (schema.fields().count("maximum") > 0 &&
          value.number_value() > At(schema, "maximum").number_value()) {
        return "above the maximum";
      }
      return "";
    case Value::kBoolValue:
      return type == "boolean" ? "" : "boolean for " + type;
    default:
      return type == "string" ? "" : "string for " + type;
  }
}

std::string OpenApiTest::ValidateObject(const Struct& object,
                                        const Struct& schema) const {
  const bool is_map =
      At(schema, "additionalProperties").kind_case() == Value::kStructValue;
  for (const auto& [key, value] : object.fields()) {
    const Struct& types = is_map ? schema : In(schema, "properties");
    const std::string name = is_map ? "additionalProperties" : key;
    if (types.fields().count(name) == 0) return "unknown " + key;
    const std::string problem = Validate(value, In(types, name));
    if (!problem.empty()) return key + ": " + problem;
  }
  return "";
}

TEST_F(OpenApiTest, HasEveryCallOfTheServices) {
  EXPECT_EQ(At(document_, "openapi").string_value(), "3.0.3");
  std::set<std::string> operations;
  for (const auto& [path, item] : In(document_, "paths").fields()) {
    const auto& methods = item.struct_value().fields();
    EXPECT_EQ(methods.size(), 1u) << path;
    if (methods.count("post") == 0) continue;
    const Struct& call = methods.at("post").struct_value();
    operations.insert(At(call, "operationId").string_value());
    EXPECT_NE(At(call, "description").string_value(), "") << path;
  }
  for (const auto* const service :
       {v1::RankRequest::descriptor()->file()->service(0),
        v1::ListModelsRequest::descriptor()->file()->service(0)}) {
    for (int i = 0; i < service->method_count(); ++i) {
      if (service->method(i)->client_streaming()) continue;
      EXPECT_THAT(operations, Contains(service->method(i)->name()));
    }
  }
  EXPECT_THAT(operations, Contains("Batch"));
  EXPECT_EQ(operations.size(), JsonCalls().size() + RerankPaths().size() + 1);
}

TEST_F(OpenApiTest, ReferencesLeadSomewhere) {
  Value all;
  *all.mutable_struct_value() = document_;
  std::set<std::string> references;
  FindReferences(all, &references);
  EXPECT_GT(references.size(), 20u);
  std::set<std::string> names;
  for (const auto& [name, schema] : schemas().fields()) {
    names.insert("#/components/schemas/" + name);
  }
  // Each leads to a schema, and each schema is used.
  EXPECT_EQ(references, names);
}

TEST_F(OpenApiTest, DescribesFieldsByTheirComments) {
  const Struct& top_k = Property("v1.RankRequest", "top_k");
  EXPECT_EQ(At(top_k, "description").string_value(),
            "Ranks to fill, at least 1; unset: all eligible candidates. If "
            "fewer are eligible, all of them are ranked and `degraded` says "
            "so.");
  EXPECT_EQ(At(top_k, "minimum").number_value(), 1);
  EXPECT_EQ(At(top_k, "maximum").number_value(), 4294967295.0);
  EXPECT_EQ(At(Property("v1.DecisionContext", "decision_id"), "maxLength")
                .number_value(),
            128);
  EXPECT_THAT(
      At(Property("v1.Candidates", "dense"), "description").string_value(),
      HasSubstr("At most one of the fields of \"features\""));
  const Struct& size = Property("model.v1.ColumnSchema", "size");
  EXPECT_EQ(At(size, "maximum").number_value(), 4096);
}

TEST_F(OpenApiTest, FollowsTheLimitsOfTheServer) {
  config::v1::RequestLimits limits;
  limits.set_max_candidates(7);
  EXPECT_THAT(OpenApiDocument(limits), HasSubstr("\"maxItems\":7"));
}

TEST_F(OpenApiTest, DescribesRequestsAndAnswersAsTheyAre) {
  v1::RankRequest request;
  SetDense(2, {1, 0, 0.5}, request.mutable_context());
  request.mutable_context()->set_seed(uint64_t{1} << 60);
  (*request.mutable_context()->mutable_attributes())["country"] = "NZ";
  request.mutable_context()->mutable_candidates()->mutable_dense()->set_packed(
      "1234");
  request.set_top_k(2);
  v1::ListModelsResponse models;
  v1::ModelStatus* const model = models.add_models();
  model->mutable_serving()->set_pinned_version(3);
  model->mutable_schema()->add_column()->set_name("title");
  const std::pair<const google::protobuf::Message*, std::string> examples[] = {
      {&request, "v1.RankRequest"}, {&models, "v1.ListModelsResponse"}};
  for (const auto& [message, name] : examples) {
    google::protobuf::util::JsonPrintOptions options;
    options.preserve_proto_field_names = true;
    options.always_print_primitive_fields = true;
    std::string json;
    ASSERT_TRUE(
        google::protobuf::util::MessageToJsonString(*message, &json, options)
            .ok());
    Value value;
    ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json, &value).ok());
    EXPECT_EQ(Validate(value, In(schemas(), name)), "") << json;
  }
  Value wrong;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(
                  R"({"context":{"candidates":{"num_features":"x"}}})", &wrong)
                  .ok());
  EXPECT_EQ(Validate(wrong, In(schemas(), "v1.RankRequest")),
            "context: candidates: num_features: string for integer");
}

}  // namespace
}  // namespace sortition
