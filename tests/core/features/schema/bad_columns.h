#pragma once
// Columns as a schema wants them, and all the ways to be wrong.
#include <functional>
#include <string>
#include <vector>

#include "core/features/schema/schema.h"
#include "sortition/model/v1/features.pb.h"
#include "sortition/v1/columns.pb.h"
#include "tests/testing/parse_text.h"

namespace sortition {

inline model::v1::Schema GoodSchemaMessage() {
  return ParseText<model::v1::Schema>(
      "column { name: 'price' type: NUMBER }"
      "column { name: 'color' type: CATEGORY }"
      "column { name: 'tags' type: CATEGORY_SET }"
      "column { name: 'title' type: TEXT }"
      "column { name: 'place' type: VECTOR size: 2 }"
      "column { name: 'question' type: TEXT scope: QUERY }"
      "column { name: 'age' type: NUMBER scope: QUERY number: 30 }"
      "column { name: 'city' type: CATEGORY scope: QUERY text: 'Rome' }"
      "column { name: 'spare' type: NUMBER missing: true }");
}

inline Schema GoodSchema() { return *Schema::Create(GoodSchemaMessage()); }

// A good request of two candidates.
inline v1::Columns GoodColumns() {
  return ParseText<v1::Columns>(
      "num_candidates: 2 "
      "candidate { name: 'price' numbers { values: [1.5, nan] } }"
      "candidate { name: 'color' missing: 1 "
      "            categories { values: ['red', ''] } }"
      "candidate { name: 'tags' category_sets { "
      "            offsets: [0, 2, 2] values: ['a', 'b'] } }"
      "candidate { name: 'title' texts { values: ['Hello', ''] } }"
      "candidate { name: 'place' missing: 0 "
      "            vectors { size: 2 values: [0, 0, 3, 4] } }"
      "query { name: 'question' texts { values: 'Who?' } }");
}

inline v1::Column* FindColumn(v1::Columns* columns, const std::string& name) {
  for (v1::Column& column : *columns->mutable_candidate()) {
    if (column.name() == name) return &column;
  }
  return columns->mutable_query(0);
}

struct BadColumns {
  const char* error;                         // What the error must say.
  std::function<void(v1::Columns*)> damage;  // To GoodColumns().
};

inline std::vector<BadColumns> AllBadColumns() {
  const auto at = [](const char* name, const auto& change) {
    return [=](v1::Columns* columns) { change(FindColumn(columns, name)); };
  };
  // Gives a column these values and missing rows in place of its own.
  const auto with = [&](const char* name, const std::string& text) {
    return at(name, [=](v1::Column* column) {
      *column = ParseText<v1::Column>(text);
      column->set_name(name);
    });
  };
  using C = v1::Column*;
  return {
      {"columns.num_candidates is 0, must be in [1, 1000000]",
       [](v1::Columns* c) { c->set_num_candidates(0); }},
      {"columns.num_candidates is 1000001, must be in [1, 1000000]",
       [](v1::Columns* c) { c->set_num_candidates(1000001); }},
      {"column 'price' is absent, must be a NUMBER of the candidates",
       at("price", [](C c) { c->set_name("Price"); })},
      {"columns.candidate[0].name has 0 bytes, must have 1 to 64",
       at("price", [](C c) { c->clear_name(); })},
      {"columns.candidate[0].name has 65 bytes, must have 1 to 64",
       at("price", [](C c) { c->set_name(std::string(65, 'x')); })},
      {"columns.query[0].name is 'a question', must be UTF-8 without white",
       [](v1::Columns* c) { c->mutable_query(0)->set_name("a question"); }},
      {"column 'price' is absent, must be a NUMBER of the candidates",
       [](v1::Columns* c) { c->mutable_candidate()->DeleteSubrange(0, 1); }},
      {"column 'question' is absent, must be a TEXT of the query",
       [](v1::Columns* c) { c->clear_query(); }},
      {"column 'price' is there twice, must be once",
       [](v1::Columns* c) { *c->add_candidate() = c->candidate(0); }},
      {"column 'question' is there twice",
       [](v1::Columns* c) { *c->add_query() = c->query(0); }},
      {"column 'question' is there twice",
       [](v1::Columns* c) {
         *c->add_candidate() = c->query(0);
         c->mutable_candidate()->rbegin()->mutable_texts()->add_values("x");
       }},
      {"column 'question' is a column of the candidates, must be a column of "
       "the query",
       [](v1::Columns* c) {
         *c->add_candidate() = c->query(0);
         c->mutable_candidate()->rbegin()->mutable_texts()->add_values("x");
         c->clear_query();
       }},
      {"column 'title' is a column of the query, must be a column of the "
       "candidates",
       [](v1::Columns* c) {
         FindColumn(c, "title")->set_name("other");
         c->mutable_query(0)->set_name("title");
       }},
      {"column 'price': has no values, must have numbers, categories, "
       "category_sets, texts or vectors",
       with("price", "")},
      {"column 'unread': has no values, must have numbers",
       [](v1::Columns* c) { c->add_candidate()->set_name("unread"); }},
      {"column 'unread': has 1 values, must have 2, one per row",
       [](v1::Columns* c) {
         *c->add_candidate() =
             ParseText<v1::Column>("name: 'unread' numbers { values: 1 }");
       }},
      {"column 'unread': size is 0, must be in [1, 4096]",
       [](v1::Columns* c) {
         *c->add_query() = ParseText<v1::Column>("name: 'unread' vectors { }");
       }},
      {"column 'price': is a TEXT, must be a NUMBER",
       with("price", "texts { values: ['1', '2'] }")},
      {"column 'color': is a NUMBER, must be a CATEGORY",
       with("color", "missing: 1 numbers { values: [1, 2] }")},
      {"column 'title': is a CATEGORY, must be a TEXT",
       with("title", "categories { values: ['a', 'b'] }")},
      {"column 'tags': is a CATEGORY, must be a CATEGORY_SET",
       with("tags", "categories { values: ['a', 'b'] }")},
      {"column 'place': is a NUMBER, must be a VECTOR",
       with("place", "missing: 0 numbers { values: [1, 2] }")},
      {"column 'price': has 1 values, must have 2, one per row",
       with("price", "numbers { values: 1.5 }")},
      {"column 'price': has 3 values, must have 2",
       with("price", "numbers { values: [1.5, nan, 1] }")},
      {"column 'color': has 3 values, must have 2",
       with("color", "missing: 1 categories { values: ['red', '', 'x'] }")},
      {"column 'title': has 3 values, must have 2",
       with("title", "texts { values: ['Hello', '', 'x'] }")},
      {"column 'question': has 2 values, must have 1",
       with("question", "texts { values: ['Who?', 'x'] }")},
      {"column 'price': values[0] is inf, must be finite, or NaN for missing",
       with("price", "numbers { values: [inf, nan] }")},
      {"column 'price': values[1] is -inf, must be finite",
       with("price", "numbers { values: [1.5, -inf] }")},
      {"column 'price': missing[0] is 2, must be below 2, the number of rows",
       at("price", [](C c) { c->add_missing(2); })},
      {"column 'price': missing[1] is 0, must be above 1, the entry before",
       with("price", "missing: [1, 0] numbers { values: [1.5, nan] }")},
      {"column 'price': missing[1] is 1, must be above 1",
       with("price", "missing: [1, 1] numbers { values: [1.5, nan] }")},
      {"column 'color': values[0] is empty, must be a category or listed as",
       with("color", "missing: 1 categories { values: ['', ''] }")},
      {"column 'color': values[1] is empty, must be a category or listed as",
       at("color", [](C c) { c->clear_missing(); })},
      {"column 'color': values[0] has 257 bytes, must have at most 256",
       with("color", "missing: 1 categories { values: ['" +
                         std::string(257, 'x') + "', ''] }")},
      {"column 'color': values[0] has the byte 0xff at 1, must be UTF-8",
       at("color",
          [](C c) { c->mutable_categories()->set_values(0, "a\xff"); })},
      {"column 'tags': has 2 offsets, must have 3, one more than rows",
       with("tags", "category_sets { offsets: [0, 2] values: ['a', 'b'] }")},
      {"column 'tags': offsets[0] is 1, must be 0",
       with("tags", "category_sets { offsets: [1, 2, 2] values: ['a', 'b'] }")},
      {"column 'tags': offsets[2] is 1, must be in [2, 2]",
       with("tags", "category_sets { offsets: [0, 2, 1] values: ['a', 'b'] }")},
      {"column 'tags': offsets[1] is 3, must be in [0, 2]",
       with("tags", "category_sets { offsets: [0, 3, 2] values: ['a', 'b'] }")},
      {"column 'tags': offsets[2] is 2, must be 3, the number of values",
       at("tags", [](C c) { c->mutable_category_sets()->add_values("c"); })},
      {"column 'tags': the set of row 0 has 'a' twice, must have it once",
       with("tags", "category_sets { offsets: [0, 2, 2] values: ['a', 'a'] }")},
      {"column 'tags': values[1] is empty, must be a category",
       with("tags", "category_sets { offsets: [0, 2, 2] values: ['a', ''] }")},
      {"column 'tags': the set of row 0 has 1001 values, must have at most "
       "1000",
       at("tags",
          [](C c) {
            auto* const sets = c->mutable_category_sets();
            for (int i = 2; i < 1001; ++i) sets->add_values(std::to_string(i));
            sets->set_offsets(1, 1001);
            sets->set_offsets(2, 1001);
          })},
      {"column 'title': values[0] has 65537 bytes, must have at most 65536",
       with("title",
            "texts { values: ['" + std::string(65537, 'x') + "', ''] }")},
      {"column 'title': values[1] has the byte 0xc3 at 3, must be UTF-8",
       at("title", [](C c) { c->mutable_texts()->set_values(1, "caf\xc3"); })},
      {"column 'question': values[0] has the byte 0x80 at 0, must be UTF-8",
       at("question", [](C c) { c->mutable_texts()->set_values(0, "\x80"); })},
      {"column 'place': size is 3, must be 2, as in the schema",
       with("place",
            "missing: 0 vectors { size: 3 values: [0, 0, 3, 4, 5, 6] }")},
      {"column 'place': has 5 values, must have 4, 2 per row",
       at("place", [](C c) { c->mutable_vectors()->add_values(1); })},
      {"column 'place': values[3] (row 1) is nan, must be finite",
       with("place", "missing: 0 vectors { size: 2 values: [0, 0, 3, nan] }")},
  };
}

}  // namespace sortition
