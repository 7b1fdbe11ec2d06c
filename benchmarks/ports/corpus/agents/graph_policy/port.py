import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
W = 16


class Affine(tf.Module):
    def __init__(self, rng, n_in, n_out):
        super().__init__()
        self.w = tf.Variable(rng.normal(size=(n_in, n_out)).astype("f") / np.sqrt(n_in).astype("f"))
        self.b = tf.Variable(0.1 * rng.normal(size=n_out).astype("f"))

    def __call__(self, x):
        return tf.nn.bias_add(tf.matmul(x, self.w), self.b)


class MLP(tf.Module):
    def __init__(self, rng, n_in, n_out):
        super().__init__()
        self.first, self.second = Affine(rng, n_in, W), Affine(rng, W, n_out)

    def __call__(self, x):
        return self.second(tf.nn.silu(self.first(x)))


class LayerNorm(tf.Module):
    def __init__(self):
        super().__init__()
        self.gain, self.shift = tf.Variable(tf.ones(W)), tf.Variable(tf.zeros(W))

    def __call__(self, x):
        mean, var = tf.nn.moments(x, axes=[-1], keepdims=True)
        return tf.nn.batch_normalization(x, mean, var, self.shift, self.gain, 1e-5)


def segment_log_softmax(logits, segments, n):
    peak = tf.math.unsorted_segment_max(logits, segments, n)
    shifted = logits - tf.gather(peak, segments)
    total = tf.math.unsorted_segment_sum(tf.exp(shifted), segments, n)
    return shifted - tf.math.log(tf.gather(total, segments))


class GraphNet(tf.Module):
    def __init__(self, seed):
        super().__init__()
        rng = np.random.default_rng(seed)
        self.embed_nodes, self.embed_edges = Affine(rng, 6, W), Affine(rng, 4, W)
        self.phi_e, self.phi_n = MLP(rng, 3 * W + 3, W), MLP(rng, 2 * W + 3, W)
        self.attend, self.choose = Affine(rng, W, 1), Affine(rng, W, 1)
        self.norm, self.critic = LayerNorm(), MLP(rng, W + 3, 1)

    def round(self, nodes, edges, senders, receivers, node_context):
        n = tf.shape(nodes)[0]
        parts = [edges, tf.gather(nodes, senders), tf.gather(nodes, receivers), tf.gather(node_context, receivers)]
        new_edges = edges + self.phi_e(tf.concat(parts, axis=-1))
        weights = tf.exp(segment_log_softmax(self.attend(new_edges)[:, 0], receivers, n))
        received = tf.math.unsorted_segment_sum(new_edges * weights[:, tf.newaxis], receivers, n)
        update = self.phi_n(tf.concat([nodes, received, node_context], axis=-1))
        return self.norm(nodes + update), new_edges

    def __call__(self, nodes, edges, senders, receivers, graph, context):
        n_graphs = tf.shape(context)[0]
        node_context = tf.gather(context, graph)
        nodes, edges = self.embed_nodes(nodes), self.embed_edges(edges)
        for _ in range(2):
            nodes, edges = self.round(nodes, edges, senders, receivers, node_context)
        log_policy = segment_log_softmax(tf.squeeze(self.choose(nodes), -1), graph, n_graphs)
        summary = tf.math.unsorted_segment_mean(nodes, graph, n_graphs)
        value = tf.squeeze(self.critic(tf.concat([summary, context], axis=-1)), -1)
        return {"log_policy": log_policy, "value": value}


def make():
    return GraphNet(seed=9)


def load(model, reference):
    def affine(ours, theirs):
        ours.w.assign(theirs.weight.detach().numpy().T)
        ours.b.assign(theirs.bias.detach().numpy())

    def perceptron(ours, theirs):
        affine(ours.first, theirs[0])
        affine(ours.second, theirs[2])

    affine(model.embed_nodes, reference.node_in)
    affine(model.embed_edges, reference.edge_in)
    perceptron(model.phi_e, reference.edge_mlp)
    perceptron(model.phi_n, reference.node_mlp)
    affine(model.attend, reference.score)
    affine(model.choose, reference.pick)
    perceptron(model.critic, reference.value)
    model.norm.gain.assign(reference.norm.weight.detach().numpy())
    model.norm.shift.assign(reference.norm.bias.detach().numpy())
