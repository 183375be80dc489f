#pragma once
// Schemas from text, for the tests of columns.
#include <string>

#include "core/features/schema/schema.h"
#include "google/protobuf/text_format.h"
#include "tests/testing/status_matchers.h"

namespace sortition {

// The schema that `text`, a model.v1.Schema in text format, declares.
inline Schema MakeSchema(const std::string& text) {
  model::v1::Schema declared;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &declared));
  absl::StatusOr<Schema> schema = Schema::Create(declared);
  EXPECT_OK(schema);
  return *std::move(schema);
}

// Answers to questions: the sentences that answer them are the candidates.
inline Schema QuestionSchema() {
  return MakeSchema(
      "column { name: 'question' type: TEXT scope: QUERY } "
      "column { name: 'sentence' type: TEXT }");
}

}  // namespace sortition
