"""Graph attention with edge features in TensorFlow: segment operations over edges."""

import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"


class GraphAttention(tf.Module):
    def __init__(self, fan_in, units, heads, edge_size, average=False):
        super().__init__()
        self.average = average

        def weight(name, *shape):
            return tf.Variable(tf.random.stateless_normal(shape, [1, len(name)]) * 0.2, name=name)

        self.kernel = weight("kernel", fan_in, heads, units)
        self.edge_kernel = weight("edge_kernel", edge_size, heads, units)
        self.a_sender = weight("a_sender", heads, units)
        self.a_receiver = weight("a_receiver", heads, units)
        self.a_edge = weight("a_edge", heads, units)
        self.bias = weight("bias", units if average else heads * units)

    def __call__(self, nodes, senders, receivers, edges):
        count = tf.shape(nodes)[0]
        z = tf.einsum("nf,fhu->nhu", nodes, self.kernel)
        from_node = tf.einsum("nhu,hu->nh", z, self.a_sender)
        to_node = tf.einsum("nhu,hu->nh", z, self.a_receiver)
        # the edges' features only ever meet the attention vector: contract the two first
        edge_vector = tf.einsum("fhu,hu->fh", self.edge_kernel, self.a_edge)
        logits = tf.gather(from_node, senders) + tf.gather(to_node, receivers)
        logits = logits + tf.linalg.matmul(edges, edge_vector)
        logits = tf.nn.leaky_relu(logits, alpha=0.2)
        highest = tf.math.unsorted_segment_max(logits, receivers, count)
        weights = tf.exp(logits - tf.gather(highest, receivers))
        total = tf.math.unsorted_segment_sum(weights, receivers, count)
        mixed = tf.math.unsorted_segment_sum(
            weights[:, :, None] * tf.gather(z, senders), receivers, count
        )
        out = mixed / total[:, :, None]
        if self.average:
            return tf.reduce_mean(out, axis=1) + self.bias
        return tf.reshape(out, (count, -1)) + self.bias


class Network(tf.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = GraphAttention(9, 8, 4, 3)
        self.layer2 = GraphAttention(32, 5, 3, 3, average=True)
        self.skip_kernel = tf.Variable(tf.random.stateless_normal((9, 32), [3, 3]) * 0.2)
        self.skip_bias = tf.Variable(tf.zeros(32))

    @staticmethod
    def with_self_loops(senders, receivers, edges, count):
        loops = tf.range(tf.cast(count, senders.dtype))
        loop_edges = tf.math.unsorted_segment_mean(edges, receivers, count)
        senders = tf.concat([senders, loops], axis=0)
        receivers = tf.concat([receivers, loops], axis=0)
        edges = tf.concat([edges, loop_edges], axis=0)
        return senders, receivers, edges

    def __call__(self, nodes, edge_index, edges):
        senders, receivers = tf.unstack(edge_index, axis=0)
        graph = self.with_self_loops(senders, receivers, edges, tf.shape(nodes)[0])
        hidden = self.layer1(nodes, *graph)
        hidden = hidden + tf.linalg.matmul(nodes, self.skip_kernel) + self.skip_bias
        hidden = tf.nn.elu(hidden)
        return tf.nn.log_softmax(self.layer2(hidden, *graph), axis=-1)


def make():
    return Network()


def load(port, reference):
    for ours, theirs in ((port.layer1, reference.first), (port.layer2, reference.second)):
        heads, units = ours.a_sender.shape
        for variable, linear in ((ours.kernel, theirs.lin), (ours.edge_kernel, theirs.lin_edge)):
            weight = linear.weight.detach().numpy().T
            variable.assign(weight.reshape(weight.shape[0], heads, units))
        ours.a_sender.assign(theirs.att_src.detach().numpy()[0])
        ours.a_receiver.assign(theirs.att_dst.detach().numpy()[0])
        ours.a_edge.assign(theirs.att_edge.detach().numpy()[0])
        ours.bias.assign(theirs.bias.detach().numpy())
    port.skip_kernel.assign(reference.skip.weight.detach().numpy().T)
    port.skip_bias.assign(reference.skip.bias.detach().numpy())
