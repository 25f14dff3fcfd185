// What a label key and a label value may look like, in the words of a Kubernetes API server. Pure.
// Key: [DNS subdomain "/"] name; name and value: at most 63 of [-A-Za-z0-9_.] between alphanumeric
// ends.
#pragma once

#include <string>
#include <string_view>

namespace loadline::kube {

// What is wrong, all of it, "; " between; empty when nothing is.
std::string label_key_problem(std::string_view key);
std::string label_value_problem(std::string_view value);

}  // namespace loadline::kube
