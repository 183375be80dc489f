#pragma once
// The tuples of all parts that the reader made.
#include <vector>

#include "trainer/tuples/tuple_reader.h"

namespace sortition {

// Views of the tuples that train, validate and test, in this order.
inline std::vector<const BanditTuple*> AllTuples(const TupleData& data) {
  std::vector<const BanditTuple*> tuples;
  for (const auto* part : {&data.train, &data.validation, &data.test}) {
    for (const BanditTuple& tuple : *part) tuples.push_back(&tuple);
  }
  return tuples;
}

inline size_t Kept(const TupleData& data) { return AllTuples(data).size(); }

inline size_t TupleBytes(const TupleData& data) {
  size_t bytes = 0;
  for (const BanditTuple* tuple : AllTuples(data)) bytes += tuple->bytes();
  return bytes;
}

}  // namespace sortition
