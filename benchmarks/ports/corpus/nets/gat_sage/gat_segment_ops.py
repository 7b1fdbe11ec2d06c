"""Segment helpers shared by the TensorFlow graph layers."""
import tensorflow as tf


def segment_softmax(scores, index, n):
    top = tf.math.unsorted_segment_max(scores, index, n)
    w = tf.exp(scores - tf.gather(top, index))
    total = tf.math.unsorted_segment_sum(w, index, n)
    return w / tf.gather(total, index)


def segment_mean(values, index, n):
    return tf.math.unsorted_segment_mean(values, index, n)
