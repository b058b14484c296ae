/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every counter of nof, once: code, BAR, control socket, `nof stats` and docs take the names from
 * here. X(ID, "name", unit, "what it counts"). Counters only grow, gauges (unit G) go both ways.
 * One array per endpoint (in its BAR), one per NIC; the core adds to both where both make sense. */
#ifndef NOF_COUNTERS_H
#define NOF_COUNTERS_H

#define NOF_COUNTERS(X) \
    X(TX_FRAMES, "port.tx_frames", "frames", "frames handed to the port") \
    X(TX_BYTES, "port.tx_bytes", "bytes", "bytes of those, from Ethernet on") \
    X(TX_BUSY, "port.tx_busy", "count", "times the port took no frame") \
    X(RX_FRAMES, "port.rx_frames", "frames", "frames received from the port") \
    X(RX_BYTES, "port.rx_bytes", "bytes", "bytes of those, from Ethernet on") \
    X(DROP_FOREIGN, "drop.foreign", "frames", "not ours: another protocol, address or port") \
    X(DROP_LENGTH, "drop.length", "frames", "length fields disagree or too short") \
    X(DROP_CRC, "drop.crc", "frames", "CRC32C wrong") \
    X(DROP_VERSION, "drop.version", "frames", "another wire version") \
    X(DROP_CONN, "drop.conn", "frames", "unknown connection id") \
    X(DROP_JOB, "drop.job", "frames", "handshake for an unknown job or with a wrong key") \
    X(DROP_TYPE, "drop.type", "frames", "unknown or misplaced frame type") \
    X(DROP_DUPLICATE, "drop.duplicate", "frames", "seen before") \
    X(DROP_WINDOW, "drop.window", "frames", "outside the receive window") \
    X(DROP_NOMEM, "drop.nomem", "frames", "no room to keep it; will be sent again") \
    X(DROP_PROTO, "drop.proto", "frames", "broke the message protocol; the path was reset") \
    X(PATHS_OPEN, "path.open", "G", "paths open now") \
    X(PATHS_OPENED, "path.opened", "count", "handshakes completed") \
    X(PATHS_DEAD, "path.dead", "count", "paths declared dead") \
    X(ACKS_TX, "path.acks_tx", "frames", "pure acknowledgements sent") \
    X(RETRANSMITS, "path.retransmits", "frames", "frames sent again") \
    X(RETRANSMITS_FAST, "path.retransmits_fast", "frames", "of those, by selective acknowledgement") \
    X(TIMEOUTS, "path.timeouts", "count", "retransmission timeouts") \
    X(REORDERED, "path.reordered", "frames", "received out of order and kept") \
    X(PROBES_TX, "path.probes_tx", "frames", "liveness and MTU probes sent") \
    X(PATHS_NARROWED, "path.narrowed", "count", "times the network was found to carry less than before") \
    X(CREDIT_STALLS, "flow.credit_stalls", "count", "times a flow had to wait for credit") \
    X(CLEAR_BYTES, "clear.bytes", "G", \
      "rendezvous payload that counts as under way to this NIC (grant_bytes)") \
    X(CLEAR_WAITS, "clear.waits", "count", \
      "times a rendezvous had to wait for payload of others to come first") \
    X(CLEAR_LAPSED, "clear.lapsed", "count", \
      "times what a sender was cleared to send counted no more, and had not all come") \
    X(MSGS_TX, "msg.tx", "messages", "messages sent") \
    X(MSG_BYTES_TX, "msg.tx_bytes", "bytes", "payload of those") \
    X(MSGS_RX, "msg.rx", "messages", "messages received") \
    X(MSG_BYTES_RX, "msg.rx_bytes", "bytes", "payload of those") \
    X(MSGS_BROKEN, "msg.broken", "messages", \
      "payload out of order, beyond its grant, or not of the length announced; refused with an error") \
    X(EAGER_TX, "msg.eager_tx", "messages", "sent eagerly") \
    X(RENDEZVOUS_TX, "msg.rendezvous_tx", "messages", "sent by rendezvous") \
    X(DELTA_TX, "delta.tx", "messages", "sent in increments") \
    X(DELTA_RUNS, "delta.runs", "count", "increments of those that left: runs of units that were ready") \
    X(DELTA_RX, "delta.rx", "count", "receives that say what of their message has come") \
    X(EXPECTED, "match.expected", "messages", "matched a posted receive on arrival") \
    X(UNEXPECTED, "match.unexpected", "messages", "had to wait in the store") \
    X(TRUNCATED, "match.truncated", "messages", "longer than their receive") \
    X(CANCELLED, "match.cancelled", "count", "receives cancelled") \
    X(SENDS_CANCELLED, "msg.cancelled", "messages", "sends cancelled") \
    X(CLAIMS_WON, "match.claims_won", "receives", \
      "from any source that the host knew, too, and the NIC served") \
    X(CLAIMS_LOST, "match.claims_lost", "receives", \
      "likewise, that the host had when a message came for them") \
    X(SPILLED, "match.spilled", "messages", "envelopes handed to the library's matcher") \
    X(PARKED, "match.parked", "messages", "sends announced and given back to the host") \
    X(PREDICT_CALLS, "predict.calls", "receives", "of the program, that the NIC may satisfy") \
    X(PREDICT_HITS, "predict.hits", "receives", "of those, that the predictor named, told their call site") \
    X(PREDICT_MISSES, "predict.misses", "receives", \
      "for which it named another message; for the rest it named none") \
    X(PREDICT_OFFERS, "predict.offers", "receives", "foretold before they were called") \
    X(PREDICT_OFFER_HITS, "predict.offer_hits", "receives", "of those, rightly") \
    X(CODEC_TX_PLAIN, "codec.tx_plain_bytes", "bytes", "payload given to the compressor") \
    X(CODEC_TX_BYTES, "codec.tx_bytes", "bytes", "what was sent for it, with the chunks' prefixes") \
    X(CODEC_TX_CHUNKS, "codec.tx_chunks", "chunks", "sent compressed") \
    X(CODEC_TX_RAW, "codec.tx_raw", "chunks", "sent as they are, because they would not have shrunk") \
    X(CODEC_TX_CYCLES, "codec.tx_cycles", "cycles", "spent compressing, by the port's clock") \
    X(CODEC_RX_PLAIN, "codec.rx_plain_bytes", "bytes", "payload that came through the decompressor") \
    X(CODEC_RX_BYTES, "codec.rx_bytes", "bytes", "what was received for it, with the chunks' prefixes") \
    X(CODEC_RX_CHUNKS, "codec.rx_chunks", "chunks", "received compressed") \
    X(CODEC_RX_RAW, "codec.rx_raw", "chunks", "received as they are") \
    X(CODEC_RX_CYCLES, "codec.rx_cycles", "cycles", "spent decompressing") \
    X(CODEC_BAD, "codec.bad", "chunks", "did not decode; their messages ended with an error") \
    X(CODEC_HITS_0, "codec.hits_poor", "values", "sent compressed, predicted in 0 to 15 leading bits") \
    X(CODEC_HITS_1, "codec.hits_fair", "values", "likewise, 16 to 31") \
    X(CODEC_HITS_2, "codec.hits_good", "values", "likewise, 32 to 47") \
    X(CODEC_HITS_3, "codec.hits_best", "values", "likewise, 48 to 64") \
    X(CODEC_GRANTED, "codec.granted", "count", "predictors granted to senders") \
    X(CODEC_REFUSED, "codec.refused", "count", "requests for one refused") \
    X(CODEC_REVOKED, "codec.revoked", "count", "predictors asked back from senders") \
    X(CODEC_PROBES, "codec.probes", "count", "times adaptive compression tried a flow") \
    X(CODEC_PREDICTORS, "codec.predictors", "G", "predictors in use, both directions") \
    X(STAGED, "stage.delivered", "messages", "delivered through the staging area") \
    X(STAGE_AHEAD, "stage.ahead", "messages", "brought into the staging area before their receive") \
    X(STAGE_HITS, "stage.hits", "messages", "early ones that their receive found staged, or granted") \
    X(STAGE_MISSED, "stage.missed", "messages", "early ones that it found neither staged nor granted") \
    X(STAGE_EVICTED, "stage.evicted", "messages", "written back to network memory to make room") \
    X(STAGE_EVICTED_BYTES, "stage.evicted_bytes", "bytes", "payload of those") \
    X(STAGE_GRANTED, "stage.granted", "messages", "rendezvous granted before their receive") \
    X(STAGE_COPIES_AVOIDED, "stage.copies_avoided", "count", \
      "payload copies by the NIC that a receive did not have to wait for") \
    X(DEFERRED_BYTES, "codec.deferred_bytes", "bytes", \
      "payload of early messages kept as it came, to be decoded when needed") \
    X(FORCED_DECODE_BYTES, "codec.forced_decode_bytes", "bytes", \
      "of those, decoded because something behind them on their flow was needed first") \
    X(STAGE_FULL, "stage.full", "count", "times the staging area had no slot") \
    X(DMA_READS, "dma.reads", "count", "read requests") \
    X(DMA_READ_BYTES, "dma.read_bytes", "bytes", "read from ranks") \
    X(DMA_WRITES, "dma.writes", "count", "write requests") \
    X(DMA_WRITE_BYTES, "dma.write_bytes", "bytes", "written to ranks") \
    X(DMA_FAULTS, "dma.faults", "count", "requests that ended with an error") \
    X(DESCS, "host.descs", "count", "descriptors taken") \
    X(DESC_INVALID, "host.desc_invalid", "count", "descriptors refused") \
    X(COMPS, "host.comps", "count", "completions given") \
    X(COMP_STALLS, "host.comp_stalls", "count", "times the completion ring was full") \
    X(RING_FAULTS, "host.ring_faults", "count", "endpoints failed for ring indices out of range") \
    X(WAKES, "host.wakes", "count", "ranks woken by system call") \
    X(COLL_STARTED, "coll.started", "count", "collectives that the NIC has begun to go through") \
    X(COLL_COMPLETED, "coll.completed", "count", "of those, done") \
    X(COLL_FAILED, "coll.failed", "count", "of those, ended by an error or a cancel") \
    X(COLL_DECLINED, "coll.declined", "count", \
      "STARTs that the NIC declined; why the library did not ask: MPI_T, library.collectives_host_*") \
    X(COLL_HOST_STEPS, "coll.host_steps", "count", "steps of collectives that the host was asked to do") \
    X(COLL_REDUCED_BYTES, "coll.reduced_bytes", "bytes", "results of reductions that the NIC did") \
    X(COLL_DISAGREED, "coll.disagreed", "count", \
      "messages of a collective that the sender calls otherwise than the receiver") \
    X(COLL_ABORTS, "coll.aborts", "count", \
      "times that a collective was said to have failed at another rank") \
    X(MCAST_GROUPS, "mcast.groups", "G", "multicast groups in use") \
    X(MCAST_TX_FRAMES, "mcast.tx_frames", "frames", "sent by multicast, each counted once") \
    X(MCAST_REPAIRS_UNICAST, "mcast.repairs_unicast", "frames", \
      "of those, sent again, or to members that do not hear, by unicast") \
    X(MCAST_REPAIRS_MULTICAST, "mcast.repairs_multicast", "frames", "of those, multicast again") \
    X(MCAST_ACKS_RX, "mcast.acks_rx", "frames", "acknowledgements that came to the sender of a multicast") \
    X(MCAST_DEAF, "mcast.deaf", "count", \
      "groups that were given up because a member does not hear multicast") \
    X(MCAST_EJECTED, "mcast.ejected", "count", \
      "members that missed so much that they were served by unicast from then on") \
    X(DROP_MCAST_TAG, "drop.mcast_tag", "frames", \
      "multicast datagrams of a known group that its key has not sealed") \
    X(SLEEPS, "core.sleeps", "count", "times the NIC core slept") \
    X(PAUSE_NS, "host.pause_ns", "ns", \
      "longest turn of the core behind which descriptors of the rank waited, its own time (nofd " \
      "--watch-pauses)") \
    X(ENDPOINTS, "core.endpoints", "G", "endpoints open now") \
    X(ENDPOINTS_DEAD, "core.endpoints_dead", "count", "endpoints that died without closing") \
    X(MEM_BYTES, "core.mem_bytes", "G", "memory of the NIC core") \
    X(MEM_ENDPOINT_BYTES, "core.mem_endpoint_bytes", "G", "of it, per endpoint") \
    X(MEM_PEER_BYTES, "core.mem_peer_bytes", "G", "of it, per peer: path and flow when silent") \
    X(NETMEM_BYTES, "netmem.bytes", "G", "network memory in use") \
    X(NETMEM_PEAK_BYTES, "netmem.peak_bytes", "G", "most that was in use")

enum nof_counter {
#define X(id, name, unit, help) NOF_C_##id,
    NOF_COUNTERS(X)
#undef X
        NOF_COUNTER_COUNT
};

struct nof_counter_info {
    const char *name;
    const char *unit;
    const char *help;
};

/* Indexed by enum nof_counter. Static; defined in common/counters.c and, for the host side, in
 * the driver: both expand this table. */
extern const struct nof_counter_info nof_counter_info[NOF_COUNTER_COUNT];

#endif
