// Which form of an answer a client takes: the Accept header, as Kubernetes API servers read it.
// Pure. The HPA controller names protobuf first and "*/*" second: an answer that any clause takes
// is never refused.
#pragma once

#include "base/result.h"
#include "net/http.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loadline::apiserver {

enum class MediaType { kJson };

struct AcceptClause {
  std::string type, subtype;  // lower case, "*" is the wildcard
  double quality = 1.0;
  std::vector<std::pair<std::string, std::string>> parameters;  // without q
};

// By falling quality, otherwise in order; malformed clauses are left out. At most 64 are read.
std::vector<AcceptClause> parse_accept(std::string_view accept);

// All Accept headers as one.
std::string accept_header(const net::Headers& headers);

// The first clause that one of our media types satisfies; an empty header takes JSON. Clauses that
// ask for another object (as=Table) are passed over. Nothing when no clause fits: 406.
std::optional<MediaType> negotiate(std::string_view accept);

// The clause's parameter, empty when it has none.
std::string_view clause_parameter(const AcceptClause& clause, std::string_view name);

bool clause_takes(const AcceptClause& clause, std::string_view type, std::string_view subtype);

// Whether people read the answer: ?pretty=true, or a User-Agent of curl, Wget or a browser when the
// query does not say.
bool wants_pretty(const std::string* pretty_parameter, const net::Headers& headers);

}  // namespace loadline::apiserver
