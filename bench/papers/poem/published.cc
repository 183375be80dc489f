#include "bench/papers/poem/published.h"

namespace sortition {

const Published& PublishedFor(const std::string& name) {
  static const auto& all = *new std::map<std::string, Published>{
      {"scene",
       {{{"h0", 1.543},
         {"IPS(B)", 1.193},
         {"POEM(B)", 1.168},
         {"IPS(S)", 1.519},
         {"POEM(S)", 1.143},
         {"CRF", 0.659}},
        {{"IPS(B)", 2.58},
         {"POEM(B)", 75.20},
         {"IPS(S)", 1.65},
         {"POEM(S)", 4.71},
         {"CRF", 4.86}},
        {{"POEM(S)", 1.143}}}},
      {"yeast",
       {{{"h0", 5.547},
         {"IPS(B)", 4.635},
         {"POEM(B)", 4.480},
         {"IPS(S)", 4.614},
         {"POEM(S)", 4.517},
         {"CRF", 2.822}},
        {{"IPS(B)", 47.61},
         {"POEM(B)", 94.16},
         {"IPS(S)", 2.86},
         {"POEM(S)", 5.02},
         {"CRF", 3.28}},
        {{"POEM(S)", 4.065}}}},
      {"tmc",
       {{{"h0", 3.445},
         {"IPS(B)", 2.808},
         {"POEM(B)", 2.197},
         {"IPS(S)", 3.023},
         {"POEM(S)", 2.522},
         {"CRF", 1.189}},
        {{"IPS(B)", 136.34},
         {"POEM(B)", 949.95},
         {"IPS(S)", 49.12},
         {"POEM(S)", 276.13},
         {"CRF", 99.18}},
        {{"POEM(S)", 2.299}}}},
      {"lyrl",
       {{{"h0", 1.463},
         {"IPS(B)", 0.921},
         {"POEM(B)", 0.918},
         {"IPS(S)", 1.118},
         {"POEM(S)", 0.996},
         {"CRF", 0.222}},
        {{"IPS(B)", 21.01},
         {"POEM(B)", 561.12},
         {"IPS(S)", 13.66},
         {"POEM(S)", 120.09},
         {"CRF", 62.93}},
        {{"POEM(S)", 0.880}}}},
  };
  static const Published& none = *new Published;
  const auto found = all.find(name);
  return found == all.end() ? none : found->second;
}

}  // namespace sortition
