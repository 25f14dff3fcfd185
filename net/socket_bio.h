// OpenSSL's view of a non-blocking socket. OpenSSL's own would raise SIGPIPE when the peer is gone.
#pragma once

struct bio_st;

namespace loadline::net {

// The socket stays the caller's. *peer_closed becomes true when the peer's end was read; it must
// outlive the BIO. Null when memory is short.
bio_st* make_socket_bio(int socket, bool* peer_closed);

}  // namespace loadline::net
