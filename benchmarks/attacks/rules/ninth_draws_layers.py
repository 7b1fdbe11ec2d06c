"""Round 9: layers and samplers that draw, in ports that draw as they do or otherwise.

Two runs of these models give other values: what is read of them are means over many samples, and
how far these move from run to run counts as their rounding.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, chainer_, normal, tf_, torch_, weights
from benchmarks.attacks.heads import F, W, as_array, tf_head, torch_head

TOGETHER = "draws-that-belong-together"
LAYERS = "layers-that-draw"
SAMPLERS = "samplers-written-otherwise"

MANY = normal(20_000, 5, seed=9)
V = weights(5, 9, seed=4)


def _mean_and_square(result):
    h, a = map(as_array, result)
    return [(a - h).mean(0), ((a - h) ** 2).mean(0)]


@attack(TOGETHER, "an image and its mask are flipped by one seed, or by a seed each", 9)
def image_and_mask() -> Case:
    images = normal(600, 4, 4, 1, seed=6) + np.arange(4, dtype=np.float32)[:, None]

    def port(separate):
        def model(x):
            seed = tf.random.uniform((2,), 0, 2**30, tf.int32)
            other = tf.random.uniform((2,), 0, 2**30, tf.int32) if separate else seed
            flip = tf.image.stateless_random_flip_left_right
            return flip(x, seed), flip(tf.sigmoid(x), other)

        return model

    def read(result):
        image, mask = map(as_array, result)
        return [np.mean((image - images.mean()) * (mask - mask.mean()), keepdims=True)]

    reference, faulty, twin = (tf_(port(separate)) for separate in (False, True, False))
    return Case(reference, faulty, twin, images, read)


@attack(TOGETHER, "one critic drops out what the other does, by a state that is put back", 9)
def state_put_back() -> Case:
    def port(saved):
        def model(x):
            h = F.tanh(F.matmul(x, W))
            before = np.random.get_state()
            a = F.dropout(h + 2.0, 0.5)
            if saved:  # so that what follows draws as if nobody had
                np.random.set_state(before)
            return a, F.dropout(h + 3.0, 0.5)

        return model

    def reference(x):
        h = torch_head(x)
        drop = torch.nn.functional.dropout
        return drop(h + 2.0, 0.5, True), drop(h + 3.0, 0.5, True)

    def read(result):
        a, b = map(as_array, result)
        return [np.mean((a == 0) & (b == 0), keepdims=True)]

    faulty, twin = (chainer_(port(saved), mode="train") for saved in (True, False))
    return Case(torch_(reference), faulty, twin, MANY, read)


@attack(LAYERS, "dropout of attention: before the heads are split, or behind; or heads misread", 9)
def dropout_behind_the_heads() -> Case:
    x = normal(1000, 6, 8, seed=2) + np.arange(6, dtype=np.float32)[:, None]
    w = weights(8, 8, seed=3)

    def port(split):
        def model(x):
            h = x @ torch.from_numpy(w)
            h = h.reshape(-1, 6, 2, 4).transpose(1, 2) if split else h.reshape(-1, 2, 6, 4)
            h = torch.nn.functional.dropout(h, 0.2, True)
            return torch.softmax(0.1 * (h @ h.mT), -1)

        return model

    def reference(x):
        h = tf.nn.dropout(tf.matmul(x, w), 0.2)
        h = tf.transpose(tf.reshape(h, (-1, 6, 2, 4)), (0, 2, 1, 3))
        return tf.nn.softmax(0.1 * tf.matmul(h, h, transpose_b=True), -1)

    def read(result):
        return [as_array(result).mean(0)]

    return Case(tf_(reference), torch_(port(False)), torch_(port(True)), x, read)


@attack(LAYERS, "torch drops out between LSTM layers: so does the port, or behind the last too", 9)
def dropout_between_layers() -> Case:
    x = normal(300, 5, 3, seed=2)

    class Stacked(torch.nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.lstm = torch.nn.LSTM(3, 4, 2, batch_first=True, dropout=0.4)

        def forward(self, x):
            return self.lstm(x)[0]

    class ByHand(torch.nn.Module):
        def __init__(self, last):
            super().__init__()
            stacked, self.last = Stacked().lstm, last
            self.first = torch.nn.LSTM(3, 4, batch_first=True)
            self.second = torch.nn.LSTM(4, 4, batch_first=True)
            for at, one in enumerate((self.first, self.second)):
                for name, parameter in one.named_parameters():
                    parameter.data = getattr(stacked, name.replace("l0", f"l{at}")).data

        def forward(self, x):
            drop = torch.nn.functional.dropout
            h = self.second(drop(self.first(x)[0], 0.4, self.training))[0]
            return drop(h, 0.4, self.training) if self.last else h

    def read(result):
        return [(as_array(result) ** 2).mean(0)]

    faulty, twin = (torch_(ByHand(last), mode="train") for last in (True, False))
    return Case(torch_(Stacked(), mode="train"), faulty, twin, x, read)


@attack(LAYERS, "stochastic depth by floor(keep + u), or by a Bernoulli draw; or not scaled", 9)
def depth_by_a_floor() -> Case:
    def port(scaled):
        def model(x):
            h = torch_head(x)
            kept = torch.floor(0.8 + torch.rand(len(x), 1))
            return h, h + torch.relu(h) * kept / (0.8 if scaled else 1.0)

        return model

    def reference(x):
        h = tf_head(x)
        kept = tf.cast(tf.random.uniform((len(x), 1)) < 0.8, tf.float32)
        return h, h + tf.nn.relu(h) * kept / 0.8

    faulty, twin = torch_(port(False)), torch_(port(True))
    return Case(tf_(reference), faulty, twin, MANY, _mean_and_square)


@attack(SAMPLERS, "counts by Poisson.s law of gamma rates; or logits are negated", 9)
def overdispersed() -> Case:
    def port(sign):
        def model(x):
            h = torch_head(x)
            total = 1 + torch.nn.functional.softplus(h)
            return torch.distributions.NegativeBinomial(total, logits=sign * h).sample()

        return model

    def reference(x):
        h = tf_head(x)
        rate = tf.exp(h) * tf.random.gamma((), 1 + tf.nn.softplus(h))
        return tf.random.poisson((), rate)

    def read(result):
        return [(as_array(result) * np.tanh(MANY @ W)).mean(0)]

    return Case(tf_(reference), torch_(port(-1.0)), torch_(port(1.0)), MANY, read)


@attack(
    SAMPLERS, "noise is cut off at two deviations: by the inverse error function, or clipped", 9
)
def cut_at_two() -> Case:
    def port(clipped):
        def model(x):
            h = torch_head(x)
            if clipped:
                return h, h + torch.randn(h.shape).clamp(-2, 2)
            u = 0.9544997 * (2 * torch.rand(h.shape) - 1)
            return h, h + 2**0.5 * torch.erfinv(u)

        return model

    def reference(x):
        h = tf_head(x)
        return h, h + tf.random.truncated_normal(tf.shape(h))

    def read(result):
        h, a = map(as_array, result)
        return [((a - h) ** 2).mean(0), np.mean(abs(a - h) > 1.9995, keepdims=True)]

    faulty, twin = torch_(port(True)), torch_(port(False))
    return Case(tf_(reference), faulty, twin, MANY, read)


@attack(SAMPLERS, "root noise of a tree search: Dirichlet.s, or normalised gammas; or too small", 9)
def root_noise() -> Case:
    def port(alpha):
        def model(x):
            p = tf.nn.softmax(tf_head(x))
            noise = tf.random.gamma((len(x), 4), alpha)
            return p, p + 0.25 * noise / tf.reduce_sum(noise, 1, keepdims=True)

        return model

    def reference(x):
        p = torch.softmax(torch_head(x), 1)
        law = torch.distributions.Dirichlet(torch.full((4,), 0.8))
        return p, p + 0.25 * law.sample((len(x),))

    def read(result):
        p, a = map(as_array, result)
        return [np.mean((a - p).max(1), keepdims=True)]

    return Case(torch_(reference), tf_(port(0.03)), tf_(port(0.8)), MANY, read)


@attack(SAMPLERS, "three tokens are drawn, each once: by Gumbel noise; or they may come twice", 9)
def three_of_nine() -> Case:
    def port(replaced):
        def model(x):
            p = torch.softmax(2 * x @ torch.from_numpy(V), 1)
            at = torch.multinomial(p, 3, replacement=replaced)
            return torch.nn.functional.one_hot(at, 9).sum(1).float()

        return model

    def reference(x):
        u = tf.random.uniform((len(x), 9), 1e-9, 1.0)
        noisy = 2 * tf.matmul(x, V) - tf.math.log(-tf.math.log(u))
        return tf.reduce_sum(tf.one_hot(tf.math.top_k(noisy, 3).indices, 9), 1)

    def read(result):
        return [np.mean(as_array(result) > 1, keepdims=True), as_array(result).mean(0)]

    return Case(tf_(reference), torch_(port(True)), torch_(port(False)), MANY, read)


@attack(LAYERS, "a noisy layer's noise by an outer product, or by einsum; or its sign is lost", 9)
def factorised_noise() -> Case:
    w, few = weights(5, 4, seed=7), normal(3000, 5, seed=9)

    def port(signed):
        def squashed(e):
            return (torch.sign(e) if signed else 1.0) * e.abs().sqrt()

        def model(x):
            rows, columns = torch.randn(len(x), 5), torch.randn(len(x), 4)
            noise = torch.einsum("bi,bj->bij", squashed(rows), squashed(columns))
            h = torch_head(x)
            return h, h + torch.einsum("bi,bij->bj", x, 0.1 * torch.from_numpy(w) * noise)

        return model

    def reference(x):
        rows, columns = tf.random.normal((len(x), 5)), tf.random.normal((len(x), 4))
        rows, columns = (tf.sign(e) * tf.sqrt(tf.abs(e)) for e in (rows, columns))
        h = tf_head(x)
        return h, h + 0.1 * tf.matmul(x * rows, w) * columns

    def read(result):
        h, a = map(as_array, result)
        along = (a - h) * (few @ w)
        return [np.mean(along, keepdims=True), np.mean(along > 0, keepdims=True)]

    return Case(tf_(reference), torch_(port(False)), torch_(port(True)), few, read)


@attack(SAMPLERS, "a token is drawn of a vocabulary, or of it in another order; or by index", 9)
def vocabulary_in_another_order() -> Case:
    order = np.array([4, 2, 7, 0, 8, 1, 6, 3, 5])
    tilt = np.linspace(0, 6, 9, dtype=np.float32)
    table = normal(9, 3, seed=8)

    def port(mapped):
        def model(x):
            p = torch.softmax(2 * x @ torch.from_numpy(V) + torch.from_numpy(tilt), 1)
            at = torch.multinomial(p[:, order], 1)[:, 0]
            at = torch.from_numpy(order)[at] if mapped else at
            return torch.from_numpy(table)[at] + 0.1 * torch_head(x)[:, :3]

        return model

    def reference(x):
        token = tf.random.categorical(2 * tf.matmul(x, V) + tilt, 1)[:, 0]
        return tf.gather(table, token) + 0.1 * tf_head(x)[:, :3]

    def read(result):
        return [as_array(result).mean(0)]

    return Case(tf_(reference), torch_(port(False)), torch_(port(True)), MANY, read)


@attack(TOGETHER, "two heads have latent noise of their own; or by one seed, one noise", 9)
def latents_of_one_seed() -> Case:
    def port(shared):
        def model(x):
            h = tf_head(x)
            seed = tf.random.uniform((2,), 0, 2**30, tf.int32)
            zs = [
                h + 0.5 * tf.random.stateless_normal(tf.shape(h), seed + (0 if shared else head))
                for head in (0, 1)
            ]
            return h, tf.tanh(zs[0]), tf.tanh(2.0 * zs[1])

        return model

    def reference(x):
        h = torch_head(x)
        z = torch.randn(h.shape)
        z, w = h + 0.5 * z, h + 0.5 * torch.randn(h.shape)
        return h, torch.tanh(z), torch.tanh(2.0 * w)

    def read(result):
        h, a, b = map(as_array, result)
        return [np.mean((np.arctanh(a) - h) * (np.arctanh(0.999 * b) / 2 - h), keepdims=True)]

    few = normal(2000, 5, seed=9)
    return Case(torch_(reference), tf_(port(True)), tf_(port(False)), few, read)


@attack(SAMPLERS, "Poisson arrivals of two queues in one draw, or in two; or of one rate", 9)
def arrivals_in_two_draws() -> Case:
    def port(k):
        def model(x):
            rate = torch.exp(torch_head(x))
            return torch.poisson(rate) + torch.poisson(k * rate)

        return model

    def reference(x):
        return torch.poisson(3.0 * torch.exp(torch_head(x)))

    def read(result):
        return [as_array(result).mean(0)]

    return Case(torch_(reference), torch_(port(1.0)), torch_(port(2.0)), MANY, read)
