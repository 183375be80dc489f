#include "tests/io/scorers/tree_model_texts.h"

#include <utility>

#include "core/base/check.h"

namespace sortition {

std::string XgboostJson() {
  return R"({"learner":{"attributes":{},"feature_names":["a","b"],
"feature_types":[],"gradient_booster":{"model":{
"gbtree_model_param":{"num_parallel_tree":"1","num_trees":"2"},
"tree_info":[0,0],
"trees":[{"base_weights":[0E0,1E-1,NaN,1E0,2E0,0E0],"categories":[],
"categories_nodes":[],"categories_segments":[],"categories_sizes":[],
"default_left":[1,0,0,0,0,0],"id":0,
"left_children":[1,3,-1,-1,-1,-1],"right_children":[2,4,-1,-1,-1,-1],
"parents":[2147483647,0,0,1,1,1],
"split_conditions":[5E-1,-1.25E0,4E0,1E0,2E0,9E9],
"split_indices":[0,1,0,0,0,0],"split_type":[0,0,0,0,0,0],
"tree_param":{"num_deleted":"1","num_feature":"2","num_nodes":"6",
"size_leaf_vector":"0"}},
{"categories":[],"categories_nodes":[],"categories_segments":[],
"categories_sizes":[],"default_left":[false],"id":1,"left_children":[-1],
"right_children":[-1],"split_conditions":[1.25E-1],"split_indices":[0],
"split_type":[0],"tree_param":{"num_nodes":"1","size_leaf_vector":"1"}}]},
"name":"gbtree"},
"learner_model_param":{"base_score":"5E-1","num_class":"0",
"num_feature":"2","num_target":"1"},
"objective":{"name":"rank:ndcg"}},"version":[1,7,4]})";
}

std::string XgboostCategoriesJson() {
  std::string text = XgboostJson();
  for (const auto& [from, to] :
       {std::pair("\"categories\":[],\n", "\"categories\":[0,33],\n"),
        std::pair("\"categories_nodes\":[],\"categories_segments\":[],"
                  "\"categories_sizes\":[],\n\"default_left\":[1,",
                  "\"categories_nodes\":[1],\"categories_segments\":[0],"
                  "\"categories_sizes\":[2],\n\"default_left\":[1,"),
        std::pair("\"split_type\":[0,0,", "\"split_type\":[0,1,"),
        std::pair("-1.25E0", "NaN")}) {
    text = Replaced(text, from, to);
  }
  return text;
}

std::string XgboostDartJson() {
  return Replaced(
      Replaced(XgboostJson(), "\"gradient_booster\":{\"model\":",
               "\"gradient_booster\":{\"gbtree\":{\"model\":"),
      "\"name\":\"gbtree\"},",
      "\"name\":\"gbtree\"},\"name\":\"dart\",\"weight_drop\":[0.5,2]},");
}

std::string LightGbmText() {
  return R"(tree
version=v4
num_class=1
num_tree_per_iteration=1
label_index=0
max_feature_idx=2
objective=binary sigmoid:2
feature_names=a b=c d
feature_infos=[0:1] [0:9] 0:1:34
tree_sizes=1 1 1

Tree=0
num_leaves=3
num_cat=0
split_feature=0 1
split_gain=2 1
threshold=0.10000000000000001 2.5
decision_type=0 10
left_child=-1 -2
right_child=1 -3
leaf_value=-1.5 0.25 3
leaf_weight=1 1 1
is_linear=0
shrinkage=1


Tree=1
num_leaves=3
num_cat=1
split_feature=2 0
split_gain=2 1
threshold=0 -1
decision_type=1 4
left_child=-1 -2
right_child=1 -3
leaf_value=10 20 30
cat_boundaries=0 2
cat_threshold=2 4
is_linear=0
shrinkage=0.1


Tree=2
num_leaves=1
num_cat=0
leaf_value=0.001
shrinkage=1


end of trees

feature_importances:
a=2

parameters:
[boosting: gbdt]
end of parameters
)";
}

std::string Replaced(std::string text, absl::string_view from,
                     absl::string_view to) {
  const size_t place = text.find(from.data(), 0, from.size());
  CHECK(place != std::string::npos);
  text.replace(place, from.size(), to.data(), to.size());
  return text;
}

}  // namespace sortition
